"""What several commands write: complaints, differences, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from merrow_analysis.text import split_lines
from merrow_server.rendering.terminal import console, echo, emit, style

_Item = TypeVar("_Item")
MANY = 50
"""Below so many files there is nothing to wait for."""
STATUS_COLOURS = {"finished": "green", "failed": "red", "cancelled": "yellow", "running": "cyan", "waiting": "cyan"}
"""How the status of a run, an evaluation or a search is coloured."""
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def complain(sentence: str) -> None:
    """One sentence about an input that can't be used, on standard error."""
    echo(f"{style('merrow:', fg='red', bold=True)} {sentence}", err=True)


def print_diff(name: str, before: str, after: str) -> None:
    """Print the unified diff of two versions of a file, as ``patch`` and ``git apply`` read it; nothing if they are equal."""
    if before == after:
        return
    import difflib

    shown = name.lstrip("/")  # as git shows a file that is given by its full path
    lines = difflib.unified_diff(split_lines(before), split_lines(after), f"a/{shown}", f"b/{shown}")
    for number, line in enumerate(lines):
        bold = number < 2
        ended = line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        emit(style(ended, fg=None if bold else _DIFF_COLOURS.get(line[0]), bold=bold or None), nl=False)


def progress(items: Sequence[_Item], verb: str) -> Iterable[_Item]:
    """``items`` with a progress bar on standard error where a person waits for many of them."""
    if len(items) < MANY or not sys.stderr.isatty():
        return items
    return _with_bar(items, verb)


def _with_bar(items: Sequence[_Item], verb: str) -> Iterator[_Item]:
    from rich.progress import Progress

    # What is printed meanwhile goes where it belongs, not through the bar to standard error.
    bar = Progress(console=console(err=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        yield from bar.track(items, description=verb)
