"""Makes attractor/commands.pyi from the registry: what editors, mypy and readers see of functions that are made when the module
is loaded.

usage: python_stubs.py            writes python/attractor/commands.pyi
       python_stubs.py --check    status 1 if it is not up to date
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
FILE = HERE / "python" / "attractor" / "commands.pyi"

HEAD = '''# Made by tools/python_stubs.py from the list of parameters that the program has; do not edit.
import os
from inspect import Signature
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy.typing as npt

from .progress import Progress
from .results import Result

File = Union[str, "os.PathLike[str]"]
Observe = Optional[Mapping[str, Callable[..., float]]]

REGISTRY: List[Dict[str, Any]]
OWN: Tuple[str, ...]
__all__: List[str]

def python_name(name: str) -> str: ...
def default(parameter: Dict[str, Any]) -> Any: ...
def settings(parameters: List[Dict[str, Any]], given: Dict[str, Any], what: str, more: Any = ...) -> Dict[str, Any]: ...
def convert(value: Any) -> Any: ...
def signature(parameters: List[Dict[str, Any]], more: Dict[str, Any]) -> Signature: ...
def parameter_help(parameters: List[Dict[str, Any]]) -> str: ...
def example(line: str) -> str: ...
def own_keywords(command: Dict[str, Any]) -> Dict[str, Any]: ...
'''


def words(choices):
    return f"Literal[{', '.join(repr(c).replace(chr(39), chr(34)) for c in choices)}]"


def type_of(p):
    """As mypy has it."""
    kind = p["kind"]
    plain = {"float": "float", "int": "int", "str": "str", "bool": "bool", "numbers": "Union[str, float, Sequence[float], npt.ArrayLike]",
             "rows": "Union[str, Sequence[Sequence[float]], npt.ArrayLike]", "texts": "Sequence[str]", "array": "Union[File, npt.ArrayLike]",
             "problem": "Union[File, Mapping[str, Any]]", "run": "Union[File, Result]",
             "model": "File", "architecture": "File", "text": "Union[File, Sequence[str]]"}
    base = kind.rstrip("?")
    special = [w for w in p["special"] if w not in ("inf",)]
    if base == "word":
        made = words(p["choices"])
    elif base == "weights":
        made = f"Union[{words(p['choices'])}, File, npt.ArrayLike]"
    elif special:
        made = f"Union[{plain[base]}, {words(special)}]"
    else:
        made = plain[base]
    if p["array"]:
        made = f"Union[{made}, npt.ArrayLike]"
    return f"Optional[{made}]" if kind.endswith("?") or p["default"] is None else made


def function(command, name, indent, commands):
    lines = [f"{commands.python_name(p['name'])}: {type_of(p)} = ..." for p in command["parameters"]]
    types = {"observe": "Observe", "progress": "Progress", "throw": "bool"}
    lines += [f"{k}: {types[k]} = ..." for k in commands.own_keywords(command)]
    body = "".join(f"\n{' ' * (indent + 8)}{line}," for line in lines)
    pad = " " * indent
    return f"{pad}def {name}(\n{pad}        *,{body}\n{pad}) -> Result:\n{pad}    \"\"\"{command['about']}.\"\"\"\n{pad}    ...\n"


def made():
    from attractor import commands
    families, text = {}, HEAD
    for command in commands.REGISTRY:
        *family, name = command["name"].split()
        if family:
            families.setdefault(family[0], []).append((command, commands.python_name(name)))
        else:
            text += "\n" + function(command, commands.python_name(name), 0, commands)
    for family, members in families.items():
        text += f"\nclass {family}:\n" + "\n".join("    @staticmethod\n" + function(c, n, 4, commands) for c, n in members)
    return text


def main():
    if "--check" in sys.argv:
        if FILE.exists() and FILE.read_text(encoding="utf-8") == made():
            return 0
        print(f"{FILE} is not what the registry says; run tools/python_stubs.py")
        return 1
    FILE.write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
