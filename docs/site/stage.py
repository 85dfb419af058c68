#!/usr/bin/python3
"""Puts together what Sphinx reads: the documents as they stand in the repository (so that their links hold), and pages that are written from the
program: reference, catalogue, glossary, C++ library.

usage: stage.py SOURCE PROGRAM GALLERY XML NOTEBOOKS
SOURCE: directory to make; GALLERY: what `attractor reproduce all --quick --out GALLERY` left; XML: of doxygen; NOTEBOOKS: pages of notebooks that were run
"""
import collections
import html
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def contents(entries):
    return "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(entries) + "\n```\n"


def documents(source):
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "packages.txt"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("site"))
    for name in ("attractor", "examples"):  # documents link to files in them
        os.symlink(ROOT / name, source / name)
    for name in ("conf.py", "index.md"):
        shutil.copy(ROOT / "docs/site" / name, source / name)
    (source / "static").mkdir()
    shutil.copy(ROOT / "docs/site/site.css", source / "static")
    pages = sorted(p.stem for p in (ROOT / "docs/decisions").glob("*.md"))
    write(source / "docs/decisions/index.md", "# Decisions\n\nOne page each: what was decided, why, and what was not taken.\n\n" + contents(pages))


def reference(source, program):
    """A page for each command, by the program itself."""
    folder = source / "reference"
    subprocess.run([program, "manual", "--form", "markdown", "--out", folder], check=True)
    listed = json.loads(subprocess.run([program, "manual", "--form", "json"], check=True, capture_output=True, text=True).stdout)
    rows = [f"| [{t['name']}](attractor-{t['name'].replace(' ', '-')}.md) | {t['about']} |" for t in listed]
    write(folder / "index.md", "# Commands\n\nWritten by the program from its lists of options. `attractor help COMMAND` and `man attractor-COMMAND` say the same.\n\n"
          "| command | |\n|---|---|\n" + "\n".join(rows) + "\n\n" + contents(f"attractor-{t['name'].replace(' ', '-')}" for t in listed))
    return len(listed)


def first_picture(folder):
    """The one that its page shows first."""
    named = re.search(r"figures/(\w+\.svg)", (folder / "index.html").read_text(encoding="utf-8"))
    return folder / "figures" / named.group(1) if named else None


def catalogue(source, program, gallery):
    """A card for each published result: picture, verdict, and its own page."""
    listed = json.loads(subprocess.run([program, "reproduce", "--list", "--json"], check=True, capture_output=True, text=True).stdout)
    verdicts = {e["id"]: e for e in json.loads((gallery / "summary.json").read_text())["entries"]}
    cards, states = [], collections.Counter(v["state"] for v in verdicts.values())
    for entry in listed:
        verdict = verdicts[entry["id"]]
        if verdict["state"] == "skipped":  # its data are not on this machine
            cards.append(f'<div class="card"><p><b>{html.escape(entry["title"])}</b></p>\n<p>{html.escape(entry["source"])}</p>\n'
                         f'<p class="differs">skipped: needs what <code>tools/models</code> fetches</p>\n'
                         f'<p><code>attractor reproduce {entry["id"]}</code></p></div>')
            continue
        shutil.copytree(gallery / entry["id"], source / "extra/catalogue" / entry["id"])
        picture = first_picture(gallery / entry["id"])
        image = ""
        if picture:
            image = (f'<a href="{entry["id"]}/index.html"><img loading="lazy" src="{entry["id"]}/figures/{picture.name}" '
                     f'alt="{html.escape(entry["title"])}"></a>\n')
        cards.append(f'<div class="card">{image}<p><a href="{entry["id"]}/index.html"><b>{html.escape(entry["title"])}</b></a></p>\n'
                     f'<p>{html.escape(entry["source"])}</p>\n<p class="{"agrees" if verdict["agrees"] else "differs"}">{html.escape(verdict["verdict"])}</p>\n'
                     f'<p><code>attractor reproduce {entry["id"]}</code></p></div>')
    words = {"agrees": "agree", "differs": "do not, and say why", "analogue": "are analogues of what a paper used",
             "skipped": "are skipped (trained models are not on this machine)", "failed": "could not be run"}
    write(source / "catalogue/index.md",
          f"# Catalogue of published results\n\n{len(listed)} figures and claims, computed by this version and compared with what the papers show: "
          f"{', '.join(f'{count} {words[state]}' for state, count in states.most_common())}. Sizes here are those of `--quick`.\n\n<div class=\"cards\">\n" + "\n".join(cards) + "\n</div>\n")
    return len(listed)


def rows_of(table):
    for line in table:
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) == 3 and not set(cells[0]) <= set("-: "):
            yield cells


def glossary(source):
    """From the table of notation.md: each symbol a term that pages can be searched for."""
    lines = (ROOT / "docs/notation.md").read_text(encoding="utf-8").split("\n")
    begin = next(k for k, line in enumerate(lines) if line.startswith("| symbol"))
    end = next(k for k in range(begin, len(lines)) if not lines[k].startswith("|"))
    terms, count = "", 0
    for symbol, code, meaning in list(rows_of(lines[begin:end]))[1:]:
        terms += f"{symbol}\n  {meaning}. In code: {code}.\n\n"
        count += 1
    write(source / "glossary.md", "# Glossary\n\nMade of the table in [notation](docs/notation.md).\n\n```{glossary}\n" + terms + "```\n")
    return count


def directive(kind, name, *options):
    return f"```{{{kind}}} {name}\n" + "".join(f":{o}:\n" for o in options) + "```\n\n"


def declared(xml):
    """What each header declares at namespace level, by doxygen: header -> directives of breathe, in the order of the header."""
    found = {}
    for path in xml.glob("*.xml"):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        if compound is None or compound.get("kind") not in ("struct", "class", "namespace"):
            continue
        name, kind = compound.findtext("compoundname"), compound.get("kind")
        if kind != "namespace":
            outer = name.rsplit("::", 1)[0]
            if not (xml / f"namespace{outer.replace('::', '_1_1')}.xml").exists():
                continue  # a member of a class stands with it
            place = compound.find("location")
            found.setdefault(place.get("file"), []).append(
                (int(place.get("line")), directive(f"doxygen{kind}", name, "members", "undoc-members")))
            continue
        members = compound.findall("sectiondef/memberdef")
        count = collections.Counter(m.findtext("name") for m in members if m.get("kind") == "function")
        for member in members:
            place, what = member.find("location"), member.get("kind")
            if what not in ("function", "enum", "typedef", "variable") or not member.findtext("name"):
                continue
            qualified = f"{name}::{member.findtext('name')}"
            if what == "function" and count[member.findtext("name")] > 1:
                types = ["".join(p.find("type").itertext()) for p in member.findall("param")]
                qualified += f"({', '.join(types)})" + (" const" if member.get("const") == "yes" else "")
            found.setdefault(place.get("file"), []).append((int(place.get("line")), directive(f"doxygen{what}", qualified)))
    return {file: [text for _, text in sorted(items)] for file, items in found.items()}


def library(source, xml):
    """The public headers with the comment that each begins with, and what doxygen read in them."""
    parts = declared(xml)
    public = (ROOT / "attractor/attractor.hpp").read_text(encoding="utf-8")
    names = [n for n in re.findall(r'#include "(attractor/[\w/]+\.hpp)"', public) if (ROOT / n).exists()]
    text = ("# C++ library\n\n`attractor/attractor.hpp` includes what is public: values in, values out. How to link it, and eleven examples: "
            "[from C++](../docs/howto/library.md).\n")
    pages = []
    for name in names:
        page = re.sub(r"\W+", "_", name[len("attractor/"):-len(".hpp")])
        head = []
        for line in (ROOT / name).read_text(encoding="utf-8").split("\n"):
            if not line.startswith("//"):
                break
            head.append(line[2:].removeprefix(" "))
        write(source / "library" / f"{page}.md", f"# {name}\n\n```text\n" + "\n".join(head) + "\n```\n\n" + "".join(parts.get(name, [])))
        pages.append(page)
    write(source / "library/index.md", text + "\n" + contents(pages))
    return names


def title_of(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]).split("\n")[0].lstrip("# ")


def python(source, notebooks):
    """The package by autodoc, and the notebooks as they were run."""
    head = "# Python\n\nHow to install and use it: [from Python](../docs/howto/python.md).\n"
    if importlib.util.find_spec("attractor") is None:
        write(source / "python/index.md", head + "\nThis site was made without the package: no reference and no notebooks here.\n")
        return 0
    import attractor
    shutil.copytree(notebooks, source / "extra/python/notebooks", ignore=shutil.ignore_patterns("*.ipynb"))
    files = sorted((ROOT / "python/notebooks").glob("*.ipynb"))
    text = head + "\n## Notebooks, as they run\n\n"
    text += "".join(f'- <a href="notebooks/{f.stem}.html">{html.escape(title_of(f))}</a>\n' for f in files)
    commands = {c["name"] for c in attractor.commands.REGISTRY}
    groups = {"Commands": [], "Blocks, flows and results": []}
    for name in attractor.__all__:
        value = getattr(attractor, name)
        if not isinstance(value, type) and not callable(value):  # a family of commands
            groups["Commands"] += [(f"{name}.{part}", f"attractor.commands.{name}.{part}") for part in sorted(vars(value))]
        else:
            groups["Commands" if name in commands else "Blocks, flows and results"].append((name, f"attractor.{name}"))
    for heading, names in groups.items():
        text += f"\n## {heading}\n\n"
        for name, path in names:
            value = attractor
            for part in name.split("."):
                value = getattr(value, part)
            what = "autoexception" if isinstance(value, type) and issubclass(value, Exception) else "autoclass" if isinstance(value, type) else "autofunction"
            if "." in name:  # members of a namespace: no module that autodoc could import
                text += f"### {path[len('attractor.commands.'):]}\n\n```text\n{value.__doc__}\n```\n\n"
            else:
                members = ":members:\n" if what == "autoclass" else ""
                text += f"```{{eval-rst}}\n.. {what}:: {path}\n" + (f"   {members}" if members else "") + "```\n\n"
    write(source / "python/index.md", text)
    return len(files)


def main():
    source, program, gallery, xml, notebooks = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    documents(source)
    print(f"{reference(source, program)} commands, {catalogue(source, program, gallery)} published results, {glossary(source)} symbols, "
          f"{len(library(source, xml))} public headers, {python(source, notebooks)} notebooks")


main()
