"""Runs a local tool as a server of the Model Context Protocol: a program of its own, of Python's standard library alone.

``local_runner.py JOB`` takes JSON: the ``file``, its ``sha256``, what is listed of the ``tool``, and how its result is told
(``returns``: as ``text``, as an ``object``, or as the ``result`` in one).
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
    names: dict[str, Any] = {"__name__": job["tool"]["name"], "__file__": job["file"]}
    exec(compile(source, job["file"], "exec"), names)  # noqa: S102 (the user has agreed to this very text)
    function = names[job["tool"]["name"]]

    def called(_: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return _called(function, arguments, job["returns"])

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


def _called(function: Callable[..., Any], arguments: dict[str, Any], returns: str) -> dict[str, Any]:
    try:
        result = function(**arguments)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        text = result if returns == "text" else json.dumps(result, allow_nan=False)
        if not isinstance(text, str) or (returns == "object" and not isinstance(result, dict)):
            raise TypeError(f"the tool returned a value of type {type(result).__name__}, which is not what it says")
    except Exception as problem:  # noqa: BLE001 (whatever it is, the caller is told)
        traceback.print_exc()
        return {"content": [{"type": "text", "text": f"{type(problem).__name__}: {problem}"}], "isError": True}
    content = {"content": [{"type": "text", "text": text}]}
    if returns == "text":
        return content
    return {**content, "structuredContent": result if returns == "object" else {"result": result}}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
