"""The commands of the registry as functions: names, values, help and refusals are those of the command line.

Every function takes keywords only, named as the flags are, with underscores. Where a flag names a file an array will do; None
leaves a parameter to the program. Beside them each takes

observe   flow only: a dict of names and callables, measured at every output. A callable gets all tokens (n, d), or distinct
          tokens and their masses if it takes two arguments, and returns a number.
progress  None: a bar if somebody can see it; True, False; or a callable told (share done, note).
throw     False: a run that could not deliver, or was interrupted, returns its Result instead of raising NotDelivered or
          Interrupted.

commands.pyi, which editors and mypy read, is made from the same list (tools/python_stubs.py).
"""
import difflib
import json
import math
import shlex
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any, Callable, Dict, List

from . import _core
from .progress import Reporter
from .results import Result, finished

REGISTRY: List[Dict[str, Any]] = json.loads(_core.commands())
OWN = ("progress", "throw")  # what every function takes beside its parameters


def python_name(name: str) -> str:
    """Of a parameter or a command: "merge-radius" is merge_radius; "self" is self_, which methods have no other use for."""
    return "self_" if name == "self" else name.replace("-", "_").replace(" ", "_")


def default(parameter: Dict[str, Any]) -> Any:
    value = parameter["default"]
    if parameter["kind"] in ("float", "float?") and isinstance(value, str):
        return {"inf": math.inf, "-inf": -math.inf}.get(value, value)
    return tuple(value) if isinstance(value, list) else value


def settings(parameters: List[Dict[str, Any]], given: Dict[str, Any], what: str, more: Any = ()) -> Dict[str, Any]:
    """Keywords into names of the list; what has another name is no keyword."""
    names = {python_name(p["name"]): p["name"] for p in parameters}
    unknown = [k for k in given if k not in names]
    if unknown:
        near = difflib.get_close_matches(unknown[0], [*names, *more], 1)
        hint = f"; {near[0]} is meant, perhaps" if near else f"; it has {', '.join([*names, *more])}"
        raise TypeError(f"{what}() has no parameter {unknown[0]!r}{hint}")
    return {names[k]: convert(v) for k, v in given.items()}


def convert(value: Any) -> Any:
    """What the library takes for it: a Result is its arrays, a problem within a problem (head) goes by paths."""
    if isinstance(value, Result):
        return {k: v for k, v in value.arrays.items() if k.startswith("/snapshots/")}
    if isinstance(value, dict):
        head = value.get("head")
        flat = {k: v for k, v in value.items() if not (k == "head" and isinstance(head, dict))}
        return {**flat, **{f"head/{k}": v for k, v in head.items()}} if isinstance(head, dict) else flat
    return value


def signature(parameters: List[Dict[str, Any]], more: Dict[str, Any]) -> Signature:
    keyword = Parameter.KEYWORD_ONLY
    every = [Parameter(python_name(p["name"]), keyword, default=default(p)) for p in parameters]
    every += [Parameter(name, keyword, default=value) for name, value in more.items()]
    return Signature(every)


def parameter_help(parameters: List[Dict[str, Any]]) -> str:
    lines, group = [], ""
    for p in parameters:
        if p["group"] != group:
            group = p["group"]
            lines += ["", group, "-" * len(group)]
        value = default(p)
        array = " An array will do." if p["array"] else ""
        lines.append(f"{python_name(p['name'])} : {p['allowed']}{'' if value is None else f' (default {value!r})'}")
        lines.append(f"    {p['help']}.{array}")
    return "\n".join(lines)


def example(line: str) -> str:
    """A line of the command line's examples as Python; empty if it is none."""
    words = shlex.split(line.split("&&")[-1])
    name = next((c for c in REGISTRY if words[:1] == ["attractor"] and " ".join(words[1:]).startswith(c["name"])), None)
    if name is None or ".toml" in line:
        return ""
    words = words[1 + len(name["name"].split()):]
    kinds = {p["name"]: p["kind"] for p in name["parameters"]}
    places = [p["name"] for p in name["parameters"] if p["positional"]]
    out, given = "", []
    while words:
        word = words.pop(0)
        flag = word.startswith("--")
        parameter = word[2:] if flag else places.pop(0)
        if parameter == "out":
            out = f".save({words.pop(0)!r})"
        elif parameter in kinds:
            text = "True" if kinds[parameter] == "bool" else words.pop(0) if flag else word
            plain = text[-1:].isdigit() or text == "True"  # not inf, all, 128k
            number = kinds[parameter] in ("float", "int", "float?", "int?", "bool") and plain
            given.append(f"{python_name(parameter)}={text if number else repr(text)}")
    return f"attractor.{name['name'].replace(' ', '.')}({', '.join(given)}){out}"


def _documentation(command: Dict[str, Any]) -> str:
    lines = [made for made in (example(line.strip()) for line in command["examples"].splitlines() if line.startswith("  ")) if made]
    examples = "\n\nExamples\n--------\n" + "\n".join(f">>> {line}" for line in lines) if lines else ""
    return f"{command['about']}.\n{parameter_help(command['parameters'])}{examples}\n"


def own_keywords(command: Dict[str, Any]) -> Dict[str, Any]:
    return {**({"observe": None} if command["name"] == "flow" else {}), "progress": None, "throw": True}


def _function(command: Dict[str, Any]) -> Callable[..., Result]:
    own = own_keywords(command)

    def run(**keywords: Any) -> Result:
        beside = {k: keywords.pop(k, v) for k, v in own.items()}
        given = settings(command["parameters"], keywords, command["name"], own)
        observe = beside.get("observe") or {}
        if not isinstance(observe, dict):
            raise ValueError(f"observe = '{observe}' is not allowed; allowed: a dict of names and callables")
        with Reporter(beside["progress"]) as tell:
            outcome = _core.run(command["name"], given, observe, tell)
        return finished(outcome, bool(beside["throw"]))

    run.__name__ = run.__qualname__ = python_name(command["name"].split()[-1])
    run.__doc__ = _documentation(command)
    run.__signature__ = signature(command["parameters"], own)  # type: ignore[attr-defined]
    run.__module__ = __name__
    return run


def _all() -> Dict[str, Any]:
    """flow, select, ...; reduce.pair and its likes in a namespace."""
    made: Dict[str, Any] = {}
    for command in REGISTRY:
        *family, name = command["name"].split()
        place = vars(made.setdefault(family[0], SimpleNamespace())) if family else made
        place[python_name(name)] = _function(command)
    return made


__all__ = list(_all())
globals().update(_all())
