"""The real Mermaid parser, asked from Python: one long-lived Node process."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "oracle"
INSTALL = "npm ci --prefix tests/oracle"


def node_binary() -> Path | None:
    """The Node that the oracle's packages bring along for this machine, else one on the path, else None."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    for name in (f"node-{platform.system().lower()}-{machine}", f"node-bin-{platform.system().lower()}-{machine}"):
        binary = HERE / "node_modules" / name / "bin" / "node"
        if binary.exists():
            return binary
    found = shutil.which("node")
    return Path(found) if found else None


class Mermaid:
    """Answers for texts and labels; see ``oracle/oracle.mjs`` for what an answer holds."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def judge(self, text: str) -> dict[str, Any]:
        return self._ask({"text": text})

    def sanitise(self, label: str) -> str:
        answer: str = self._ask({"label": label})["label"]
        return answer

    def _ask(self, request: dict[str, str]) -> dict[str, Any]:
        ask, reply = self._process.stdin, self._process.stdout
        assert ask is not None
        assert reply is not None
        ask.write(json.dumps(request) + "\n")
        ask.flush()
        line = reply.readline()
        if not line:
            raise RuntimeError(f"the Mermaid process ended on {request!r}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def mermaid() -> Iterator[Mermaid]:
    """Start Mermaid for the length of a block.

    Where it isn't installed the test is skipped, or fails if ``CI`` or ``MERROW_REQUIRE_MERMAID`` is set.
    """
    node = node_binary()
    if node is None or not (HERE / "node_modules" / "mermaid").exists():
        say = pytest.fail if os.environ.get("CI") or os.environ.get("MERROW_REQUIRE_MERMAID") else pytest.skip
        say(f"Mermaid itself is not installed; `{INSTALL}` installs it")
    process = subprocess.Popen(
        [str(node), str(HERE / "oracle.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield Mermaid(process)
    finally:
        process.kill()
        process.communicate()
