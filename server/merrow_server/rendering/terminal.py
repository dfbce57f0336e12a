"""The only ways to a terminal. Texts of models, programs, files and users come out as text and never drive it.

`echo` is for what people read, `emit` for what programs may read too (answers, workflows, differences, JSON), `console`
for tables and progress. `style` marks Merrow's own colours; any other escape sequence is shown as visible characters,
whoever wrote it. `guard` does the same for all that other packages, warnings and tracebacks write to a terminal.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

import click

from merrow_server.rendering.snippet import plain

if TYPE_CHECKING:
    from rich.console import Console

_ESCAPE = f"\ue000{os.urandom(8).hex()}"
"""Stands for the escape character in Merrow's own colours until they are written: nobody else can know it."""
_OWN = re.compile(rf"{_ESCAPE}\[[0-9;]*m")


def style(text: str, **how: Any) -> str:
    """``text`` in colours for `echo` and `emit`; ``how`` is what `click.style` takes."""
    before, after = _around(tuple(how.items()))
    return f"{before}{text}{after}"


@lru_cache(maxsize=64)
def _around(how: tuple[tuple[str, Any], ...]) -> tuple[str, str]:
    """What stands before and after a text in colours."""
    before, after = click.style("\0", **dict(how)).replace("\x1b", _ESCAPE).split("\0")
    return before, after


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Write what people read to standard output, or standard error. It is made harmless wherever it goes."""
    _write(plain(text), _stream(err), nl=nl)


def emit(text: str | Iterable[str], *, err: bool = False, nl: bool = True) -> None:
    """Write what programs may read too, also part after part: exactly as it is, but on a terminal as `echo` writes it."""
    stream = _stream(err)
    for part in [text] if isinstance(text, str) else text:
        _write(plain(part) if stream.isatty() else part, stream, nl=False)
    if nl:
        _write("", stream, nl=True)


def console(*, err: bool = False) -> Console:
    """A ``rich`` console on standard output, or standard error, whose texts are made harmless however they are drawn."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                safe = segment.control or segment.text.isprintable()
                yield segment if safe else Segment(plain(segment.text), segment.style)

    return SafeConsole(file=_stream(err))


def colour() -> bool | None:
    """Whether to colour: as NO_COLOR and FORCE_COLOR say, else (None) where a terminal reads."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def guard() -> None:
    """From now on, make harmless what anything else writes to standard output and standard error if they are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, _Guarded) and stream.isatty():
            setattr(sys, name, _Guarded(stream))


class _Guarded(io.TextIOWrapper):
    """A terminal's stream through which no text drives the terminal; ``behind`` is the stream that it stands before."""

    def __init__(self, behind: io.TextIOWrapper) -> None:
        behind.flush()
        super().__init__(behind.buffer, behind.encoding, behind.errors)
        self.behind = behind

    def write(self, text: str) -> int:
        super().write(plain(text))
        self.flush()
        return len(text)

    def __del__(self) -> None:
        """Leave the terminal open: it belongs to the stream behind."""


def _stream(err: bool) -> TextIO:
    stream = sys.stderr if err else sys.stdout
    return stream.behind if isinstance(stream, _Guarded) else stream


def _write(text: str, stream: TextIO, *, nl: bool) -> None:
    """Write ``text``, with Merrow's own colours where they are wanted."""
    ended = text + "\n" if nl else text
    wanted = colour()
    if not (stream.isatty() if wanted is None else wanted):
        ended = _OWN.sub("", ended)
    ended = ended.replace(_ESCAPE, "\x1b")
    if stream.isatty():
        click.echo(ended, file=stream, nl=False, color=wanted)  # which also knows the consoles of Windows
    else:
        stream.write(ended)
        stream.flush()
