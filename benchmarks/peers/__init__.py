"""Peers of Merrow that run in Node, asked for the CPU time that they need for a text."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = {"mermaid": "mermaid 12.3.0", "maid": "maid 0.0.29"}
INSTALL = "npm ci --prefix benchmarks/peers"


def _node() -> str | None:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    for name in (f"node-{platform.system().lower()}-{machine}", f"node-bin-{platform.system().lower()}-{machine}"):
        binary = HERE / "node_modules" / name / "bin" / "node"
        if binary.exists():
            return str(binary)
    return shutil.which("node")


class Peers:
    """One warm Node process for all peers."""

    def __init__(self, node: str) -> None:
        self._process = subprocess.Popen(
            [node, str(HERE / "peers.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def cpu(self, peer: str, text: str) -> float:
        """Milliseconds of CPU that a peer needs to read a text which it must find good."""
        ask, reply = self._process.stdin, self._process.stdout
        if ask is None or reply is None:
            raise RuntimeError("the peers' process has no pipes")
        ask.write(json.dumps({"peer": peer, "text": text}) + "\n")
        ask.flush()
        line = reply.readline()
        if not line:
            raise RuntimeError(f"the peers' process ended while {peer} was asked")
        answer: dict[str, Any] = json.loads(line)
        if not answer["ok"]:
            raise RuntimeError(f"{peer} refuses the test file")
        return float(answer["cpu"])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def start_peers() -> Peers | None:
    """The peers, or None where they are not installed."""
    node = _node()
    if node is None or not (HERE / "node_modules" / "mermaid").exists():
        return None
    return Peers(node)
