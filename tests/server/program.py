"""The program run as a user runs it, and small workflows to run it on."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.forked import forked

from merrow_server.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def merrow(*arguments: str, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> Outcome:
    """Run the program in a process of its own, in the current folder."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    code, out, err = forked(arguments, given, {**os.environ, **(env or {})})
    return Outcome(code, out.decode(), err.decode())


def in_process(capture: Any, *arguments: str) -> Outcome:
    """The same in this process, where many cases are needed; ``capture`` is pytest's capsys."""
    code = main(list(arguments))
    out, err = capture.readouterr()
    return Outcome(code, out, err)


def end_at_once(process: subprocess.Popen[str]) -> None:
    """Let nothing be left of a program that serves."""
    if process.poll() is None:
        process.kill()
    assert process.stdout is not None
    process.stdout.close()
    process.wait()


GOOD = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: solver)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""

ONE_VOICE = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: solver)"]:::CustomOp
    VOTE["ScEnsemble<br/>"]:::ScEnsembleOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A --> VOTE
    VOTE --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    classDef ScEnsembleOp fill:#ccc
"""

UNLABELLED = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    CODE["Programmer<br/>"]:::ProgrammerOp
    RETURN([Answer]):::Interface
    PROBLEM --> CODE
    CODE --> RETURN
    classDef Interface fill:#eee
    classDef ProgrammerOp fill:#ddd
"""
"""A warning with a safe fix, and no error: the edge into the Programmer should say its port."""


def markdown(*diagrams: str) -> str:
    """A Markdown file with these diagrams."""
    return "".join(f"# Part {number}\n\n```mermaid\n{text}```\n\n" for number, text in enumerate(diagrams, 1))


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
