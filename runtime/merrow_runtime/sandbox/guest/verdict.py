"""The tests' process: runs the tests against stand-ins, says what passed. No line of the solution runs here."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import json
import sys
from typing import Any

from merrow_runtime.sandbox.guest.channel import Channel
from merrow_runtime.sandbox.guest.remote import SolutionCalls
from merrow_runtime.sandbox.guest.running import module, outcome, sentence, trace

# A test may use names that the solution imports from these (published tests do); they are imported again, never taken from there.
_SHARED_MODULES = frozenset(
    [
        "bisect",
        "cmath",
        "collections",
        "copy",
        "datetime",
        "decimal",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "math",
        "numpy",
        "operator",
        "random",
        "re",
        "statistics",
        "string",
        "sympy",
        "sys",
        "time",
        "typing",
    ]
)
_CUSTOMARY_NAMES = {"numpy": "np", "sympy": "sp"}
# Names of modules, with the modules: a test that uses one without importing it gets the module.
_MODULES = {
    name: name for name in (*sys.stdlib_module_names, "numpy", "scipy", "sympy", "mpmath", "pandas", "networkx")
}
_MODULES |= {"np": "numpy", "sp": "sympy", "pd": "pandas", "nx": "networkx"}
# Functions that compare or prepare a comparison, with the module that defines them (empty: none that is offered here).
_COMPARING = {
    **dict.fromkeys(("isclose", "isnan", "isinf", "isfinite", "fabs"), "math"),
    **dict.fromkeys(("allclose", "array_equal", "array_equiv"), "numpy"),
    **dict.fromkeys(("assert_allclose", "assert_almost_equal", "assert_array_equal", "assert_equal"), "numpy.testing"),
    **dict.fromkeys(("assert_array_almost_equal", "assert_approx_equal"), "numpy.testing"),
    **dict.fromkeys(("Counter", "OrderedDict", "defaultdict", "deque"), "collections"),
    **dict.fromkeys(("Decimal",), "decimal"),
    **dict.fromkeys(("Fraction",), "fractions"),
    **dict.fromkeys(("deepcopy",), "copy"),
    **dict.fromkeys(("TestCase",), "unittest"),
    **dict.fromkeys(("approx", "raises"), ""),
}


def _shared_imports(code: str) -> dict[str, Any]:
    """What the solution imports at top level from harmless modules under its own name, imported here."""
    imports: dict[str, Any] = {}
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return imports
    for statement in statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        for alias in statement.names:
            source = alias.name if isinstance(statement, ast.Import) else statement.module or ""
            own_name = alias.asname in (None, alias.name) or (
                isinstance(statement, ast.Import) and alias.asname == _CUSTOMARY_NAMES.get(source)
            )
            if source not in _SHARED_MODULES or not own_name:
                continue
            with contextlib.suppress(ImportError, AttributeError):
                imported = importlib.import_module(source)
                if isinstance(statement, ast.Import):
                    imports[alias.asname or source] = imported
                elif alias.name == "*":
                    imports.update({name: value for name, value in vars(imported).items() if not name.startswith("_")})
                else:
                    imports[alias.name] = getattr(imported, alias.name)
    return imports


def _own_names(test: str, solution_imports: dict[str, Any]) -> dict[str, Any]:
    """Names that a test uses without importing them and that mean the same whatever the solution says.

    Modules, and functions that compare (`isclose`): a solution that defined them would judge itself. Where the solution imports
    such a name from the module that it belongs to, that import decides (`from bisect import bisect`).
    """
    names: dict[str, Any] = {}
    try:
        mentioned = [node for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Name)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names
    used = {node.id for node in mentioned} - {node.id for node in mentioned if isinstance(node.ctx, ast.Store)}
    for name in used & (_MODULES.keys() | _COMPARING.keys()):
        with contextlib.suppress(ImportError, AttributeError):
            if name in solution_imports:
                names[name] = solution_imports[name]
            elif name in _MODULES:
                names[name] = importlib.import_module(_MODULES[name])
            elif _COMPARING[name]:
                names[name] = getattr(importlib.import_module(_COMPARING[name]), name)
    return names


def _may_have(name: str, entry: str) -> bool:
    """Whether the solution may define a name for a test.

    Not Python's own names (`abs`, `__builtins__`), no module and no function that compares, lest the solution judge itself.
    """
    if name == entry:
        return name.isidentifier()
    reserved = name.startswith("__") or hasattr(builtins, name) or name in _MODULES or name in _COMPARING
    return name.isidentifier() and not reserved


def _namespace(
    wire: SolutionCalls, shared: dict[str, Any], entry: str, names: dict[str, Any], test: str, namespace: dict[str, Any]
) -> None:
    """Fill a test's namespace. Later wins: the solution's names, what it imports from known modules, names that are nobody's."""
    for name, data in names.items():
        if _may_have(name, entry):
            namespace[name] = wire.decode(data)
    own = {**{name: value for name, value in shared.items() if _may_have(name, "")}, **_own_names(test, shared)}
    namespace.update({name: value for name, value in own.items() if name != entry})


def _run(
    wire: SolutionCalls, shared: dict[str, Any], entry: str, names: dict[str, Any], message: dict[str, Any]
) -> dict[str, Any]:
    file = f"test_{message['number']}.py"
    wire.new_test()
    try:
        made, code = module("test", file, message["test"])
        namespace = made.__dict__
        _namespace(wire, shared, entry, names, message["test"], namespace)
        if entry not in namespace or not callable(namespace[entry]):
            missing = f"NameError: the solution defines no function named {entry!r}"
            return {"outcome": "error", "error": missing, "traceback": missing}
        namespace["candidate"] = namespace[entry]
        exec(code, namespace)  # noqa: S102 - what this process is for
    except BaseException as error:  # noqa: BLE001 - a test that raises has failed, whatever it raises
        text = sentence(error)
        if isinstance(error, AssertionError) and wire.last_call:
            text = f"{text} ({wire.last_call})" if str(error) else f"{text}: {wire.last_call}"
        traces = [part for part in (wire.remote_traceback, trace(error, (file,))) if part]
        return {"outcome": outcome(error), "error": text, "traceback": "\n".join(traces)}
    return {"outcome": "passed", "error": "", "traceback": ""}


def _named(payload: bytes) -> dict[str, Any]:
    """The solution's names as its process sent them; none where that is not a JSON object."""
    try:
        names = json.loads(payload)
    except (ValueError, RecursionError, MemoryError):
        return {}
    return names if type(names) is dict else {}


def judge(channel: Channel, job: dict[str, Any]) -> None:
    """Run each test that the host sends (`t`: `{number, test}`), answer each with a verdict (`v`).

    Ahead of the first test, and whenever the solution's process is a new one, comes what that process said of its names (`l`).
    """
    wire = SolutionCalls(channel)
    shared = _shared_imports(job["code"])
    names: dict[str, Any] = {}
    while True:
        kind, payload = channel.receive_bytes()
        if kind == b"l":
            names = _named(payload)
        else:
            channel.send(b"v", _run(wire, shared, job["entry"], names, json.loads(payload)))
