"""Runs a local tool as a server of the Model Context Protocol: a program of its own, of Python's standard library alone.

``local_runner.py JOB`` takes JSON: the ``file``, its ``sha256``, what is listed of the ``tool``, and how its result is told
(``returns``: as ``text``, as an ``object``, or as the ``result`` in one). With ``makes`` some arguments are dataclasses.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import os
import sys
import traceback

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

VERSION = "2025-11-25"
UNKNOWN_METHOD = -32601


def main(job: dict[str, Any]) -> None:
    """Answer on the standard streams until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What the tool prints is no message.
    os.dup2(2, 1)
    with open(job["file"], "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
        source = file.read()
    if hashlib.sha256(source).hexdigest() != job["sha256"]:
        sys.exit(f"{job['file']} has changed since it was looked at.")
    # Under a name that takes the place of no module: dataclasses look for theirs.
    module = type(sys)(f"merrow_tool_{job['tool']['name']}")
    module.__file__ = job["file"]
    sys.modules[module.__name__] = module
    exec(compile(source, job["file"], "exec"), module.__dict__)  # noqa: S102 (the user has agreed to this very text)
    function = module.__dict__[job["tool"]["name"]]

    def called(_: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return _called(function, arguments, job["returns"], makes=job.get("makes", False))

    serve(answers, {"name": job["tool"]["name"], "version": job["sha256"][:8]}, [job["tool"]], called)


def serve(
    answers: TextIO,
    info: dict[str, str],
    tools: list[dict[str, Any]],
    called: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> None:
    """Answer what comes on the standard input until it ends. ``called`` gives the result of a call, by the tool's name and its
    arguments.
    """
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"], **_answered(request, info, tools, called)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answered(
    request: dict[str, Any],
    info: dict[str, str],
    tools: list[dict[str, Any]],
    called: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            return {"result": {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": tools}}
        case "tools/call":
            return {"result": called(str(request["params"].get("name")), request["params"].get("arguments") or {})}
    return {"error": {"code": UNKNOWN_METHOD, "message": f"There is no method {request['method']}."}}


def _called(function: Callable[..., Any], arguments: dict[str, Any], returns: str, *, makes: bool) -> dict[str, Any]:
    try:
        if makes:
            arguments = _made_arguments(function, arguments)
        result = function(**arguments)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        text = result if returns == "text" else json.dumps(result, allow_nan=False, default=_plain)
        if not isinstance(text, str) or (returns == "object" and text[:1] != "{"):
            raise TypeError(f"the tool returned a value of type {type(result).__name__}, which is not what it says")
    except Exception as problem:  # noqa: BLE001 (whatever it is, the caller is told)
        traceback.print_exc()
        return {"content": [{"type": "text", "text": f"{type(problem).__name__}: {problem}"}], "isError": True}
    content = {"content": [{"type": "text", "text": text}]}
    if returns == "text":
        return content
    told = json.loads(text)
    return {**content, "structuredContent": told if returns == "object" else {"result": told}}


def _plain(value: Any) -> dict[str, Any]:
    """A dataclass as an object."""
    if isinstance(value, type) or not hasattr(value, "__dataclass_fields__"):
        raise TypeError(f"the tool returned a value of type {type(value).__name__}, which is not what it says")
    import dataclasses

    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _made_arguments(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments with dataclasses where the function takes them."""
    import typing

    hints = typing.get_type_hints(function)
    return {name: _made(value, hints.get(name)) for name, value in arguments.items()}


def _made(value: Any, hint: Any) -> Any:
    import typing

    hint = getattr(hint, "__value__", hint)  # of a type that has a name
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is not None and not isinstance(origin, type):  # NotRequired and the like, and Optional
        origin = origin if origin is typing.Union else None
        if origin is None:
            return _made(value, parts[0]) if parts else value
    if isinstance(value, list) and origin is list:
        return [_made(item, parts[0]) for item in value]
    if isinstance(value, dict) and origin is dict:
        return {key: _made(item, parts[1]) for key, item in value.items()}
    if origin is not None:  # a type or None
        rest = [part for part in parts if part is not type(None)]
        return _made(value, rest[0]) if value is not None and len(rest) == 1 else value
    if isinstance(value, dict) and isinstance(hint, type):
        fields = typing.get_type_hints(hint) if hasattr(hint, "__annotations__") else {}
        made = {key: _made(item, fields.get(key)) for key, item in value.items()}
        return hint(**made) if hasattr(hint, "__dataclass_fields__") else made
    return value


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
