"""Programs of others that benchmarks compare with: in a process and an environment of their own, asked by lines of JSON."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

_PEERS = Path(__file__).parent / "peers"
_PYTHON = _PEERS / ".venv" / ("Scripts/python.exe" if platform.system() == "Windows" else "bin/python")
INSTALL = "python -m venv benchmarks/peers/.venv && benchmarks/peers/.venv/bin/pip install -r benchmarks/peers/requirements.txt"


def langgraph_installed() -> bool:
    """Whether the environment of LangGraph has been made, by ``INSTALL``."""
    return _PYTHON.exists()


class PeerProcess:
    """A script of ``benchmarks/peers`` that imports LangGraph."""

    def __init__(self, script: str) -> None:
        self._process = subprocess.Popen(
            [str(_PYTHON), str(_PEERS / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version: str = self._read()["version"]

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Its answer, once there is one."""
        stdin = self._process.stdin
        if stdin is None:
            raise SystemExit("The process with LangGraph has no pipe.")
        stdin.write(json.dumps(question) + "\n")
        stdin.flush()
        return self._read()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        if not line:
            raise SystemExit("The process with LangGraph ended.")
        answer: dict[str, Any] = json.loads(line)
        return answer
