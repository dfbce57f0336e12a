"""How a program is to be run, where its command line says more than the call of its function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from merrow_runtime.options import RunOptions
from merrow_runtime.values import Value


@dataclass(frozen=True)
class ProgramOptions:
    """How a program is to be run. ``tell`` takes sentences for the person who runs it, such as which model is asked; ``ask``
    puts a question to them, by the node that asks, and gives what they type, None where they don't answer; it is None where
    nobody can be asked. With ``again`` a run that was stopped before its end is not continued.
    """

    options: RunOptions = field(default_factory=RunOptions)
    inputs: Mapping[str, Value] = field(default_factory=dict)
    tell: Callable[[str], None] | None = None
    ask: Callable[[str, Mapping[str, Any]], str | None] | None = None
    again: bool = False


_ASKED: ContextVar[ProgramOptions | None] = ContextVar("asked", default=None)


def asked_for() -> ProgramOptions:
    """How the program is to be run now."""
    return _ASKED.get() or ProgramOptions()


@contextmanager
def asking(asked: ProgramOptions) -> Iterator[None]:
    """Run the functions of a program so, within."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)
