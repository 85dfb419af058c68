"""Executes notebooks from beginning to end, each in a kernel of its own.

usage: run.py [--pictures DIR] [--pages DIR] [NUMBER...]    all of them if no number is given

--pictures DIR   every picture they show, as PNG
--pages DIR      each notebook with its outputs, as HTML and .ipynb
Status 1 if a cell fails, or if a notebook that is kept here holds outputs.
"""
import argparse
import base64
import pathlib
import sys
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = pathlib.Path(__file__).resolve().parent


def chosen(numbers):
    every = sorted(HERE.glob("[0-9]*_*.ipynb"))
    return [n for n in every if not numbers or int(n.name.split("_")[0]) in numbers]


def keep_pictures(notebook, name, directory):
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                count += 1
                (directory / f"{name}_{count}.png").write_bytes(base64.b64decode(output["data"]["image/png"]))


def keep_page(notebook, name, directory):
    from nbconvert import HTMLExporter
    directory.mkdir(parents=True, exist_ok=True)
    page, _ = HTMLExporter(mathjax_url="", require_js_url="").from_notebook_node(notebook)
    (directory / f"{name}.html").write_text(page, encoding="utf-8")
    nbformat.write(notebook, directory / f"{name}.ipynb")


def run(file, given):
    notebook = nbformat.read(file, as_version=4)
    if any(cell.get("outputs") for cell in notebook.cells):
        print(f"{file.name}: holds outputs; clear them before it is kept")
        return False
    begin = time.monotonic()
    try:
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    except CellExecutionError as error:
        print(f"{file.name}: {error}")
        return False
    print(f"{file.name}: {time.monotonic() - begin:.1f} s", flush=True)
    if given.pictures:
        keep_pictures(notebook, file.stem, given.pictures)
    if given.pages:
        keep_page(notebook, file.stem, given.pages)
    return True


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--pages", type=pathlib.Path)
    parser.add_argument("numbers", type=int, nargs="*")
    given = parser.parse_args()
    files = chosen(given.numbers)
    assert files, "no such notebook"
    return 0 if all([run(file, given) for file in files]) else 1


if __name__ == "__main__":
    sys.exit(main())
