"""Runs the program on a real terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server.forked import Forks


class Terminal:
    """A terminal for one call at a time."""

    def __init__(self, forks: Forks) -> None:
        self._forks = forks

    def __call__(self, *arguments: str, stdin: str = "", typed: str = "", program: str | None = None) -> str:
        """What is shown of a call with these arguments in the current folder; of ``program``, Python text, where given. What is
        ``typed`` comes from the terminal itself, in place of ``stdin``.
        """
        Path("stdin").write_text(stdin, encoding="utf-8", newline="")
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "300", "LINES": "60"}
        _, shown = self._forks.call(
            arguments,
            environment,
            folder=str(Path.cwd()),
            stdin=str(Path("stdin").absolute()),
            typed=typed,
            program=program,
        )
        return shown.decode()


@contextmanager
def terminals() -> Iterator[Terminal]:
    forks = Forks()
    yield Terminal(forks)
    forks.close()
