"""The tests' process: runs the tests against stand-ins, says what passed. No line of the solution runs here."""

from __future__ import annotations

import ast
import builtins
import importlib
from typing import Any

from merrow_runtime.sandbox.guest.channel import Channel
from merrow_runtime.sandbox.guest.remote import Wire
from merrow_runtime.sandbox.guest.running import module, outcome, sentence, trace

# A test may use names that the solution imports from these (published tests do); they are imported anew, never taken from there.
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


def _shared_imports(code: str) -> dict[str, Any]:
    """What the solution imports at top level from harmless modules under its own name, imported here."""
    found: dict[str, Any] = {}
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
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
            try:
                imported = importlib.import_module(source)
                if isinstance(statement, ast.Import):
                    found[alias.asname or source] = imported
                elif alias.name == "*":
                    found.update({name: value for name, value in vars(imported).items() if not name.startswith("_")})
                else:
                    found[alias.name] = getattr(imported, alias.name)
            except (ImportError, AttributeError):
                continue
    return found


def _may_have(name: str, entry: str) -> bool:
    """Whether the solution may give a test this name: none of Python's own, lest `abs` or `__builtins__` be what it likes."""
    return name.isidentifier() and not name.startswith("__") and (name == entry or not hasattr(builtins, name))


def _run(
    wire: Wire, shared: dict[str, Any], entry: str, names: dict[str, Any], message: dict[str, Any]
) -> dict[str, Any]:
    file = f"test_{message['number']}.py"
    wire.new_test()
    try:
        made, code = module("test", file, message["test"])
        namespace = made.__dict__
        for name, data in names.items():
            if _may_have(name, entry):
                namespace[name] = wire.decode(data)
        namespace.update({name: value for name, value in shared.items() if name != entry and _may_have(name, entry)})
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


def judge(channel: Channel, job: dict[str, Any]) -> None:
    """Run each test that the host sends (`t`: `{number, test}`), answer each with a verdict (`v`).

    Ahead of the first test, and whenever the solution's process is a new one, comes what that process said of its names (`l`).
    """
    wire = Wire(channel)
    shared = _shared_imports(job["code"])
    names: dict[str, Any] = {}
    while True:
        kind, message = channel.receive()
        if kind == b"l":
            names = dict(message["names"])
        else:
            channel.send(b"v", _run(wire, shared, job["entry"], names, message))
