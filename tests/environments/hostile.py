"""A server that workflows act in: TextCraft, or something that no environment may say.

``hostile.py LOG HOW``: what it is asked is written to ``LOG``; ``HOW`` is empty, or says what is wrong with its answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from merrow_runtime.outside.hosts.hosting import EnvironmentHost
from merrow_runtime.outside.hosts.textcraft_host import HostedTextCraft
from merrow_runtime.outside.local_runner import serve

WRONG: dict[str, dict[str, Any]] = {
    "no session": {"observation": "x"},
    "long session": {"session": "s" * 2_000, "observation": "x"},
    "no observation": {"session": "s"},
    "list": {"session": "s", "observation": ["x"]},
    "reward text": {"session": "s", "observation": "x", "reward": "1"},
    "reward huge": {"session": "s", "observation": "x", "reward": 1e301},
    "done text": {"session": "s", "observation": "x", "terminated": "no"},
    "info": {"session": "s", "observation": "x", "info": [1]},
    "unlike": {"session": "s", "observation": "x", "info": {"a": float("nan")}},
    "large": {"session": "s", "observation": "x" * 300_000},
}


def main(log: str, how: str) -> None:
    host = EnvironmentHost(HostedTextCraft)

    def called(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(json.dumps([os.getpid(), tool, dict(arguments)]) + "\n")
        if how == "crash":
            os._exit(1)
        if how == "error":
            return {"content": [{"type": "text", "text": "no\x1b[31m"}], "isError": True}
        if how == "no object":
            return {"content": [{"type": "text", "text": "[" * 100_000}]}
        if how:
            return {"content": [{"type": "text", "text": json.dumps(WRONG[how])}]}
        result = host.called(tool, arguments)
        fields = result.get("structuredContent")
        if fields is not None:
            fields["info"] = {"left": 0}
        return result

    serve(
        sys.stdout,
        {"name": "craft", "version": "1"},
        [{"name": name, "inputSchema": {"type": "object"}} for name in ("reset", "step")],
        called,
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
