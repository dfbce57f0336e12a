"""What is wrong with a program's workflow, said of its own lines: nobody has seen the file of Mermaid that it is checked as."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from merrow_analysis.diagnostics import Diagnostic
from merrow_runtime.compiled.handles import PlainGraph, PlainNode

_WORD = re.compile(r"[^\s@\[\](){}|\"]+")
_ARROW = re.compile(r"--|==|-\.")
_PACKAGE = __package__ or "merrow_runtime.compiled"


def line_of_program() -> int:
    """The line, from 1, of the program that is at work, in whatever calls this package; 0 where there is none."""
    frame = _frame_of_program()
    return 0 if frame is None else frame.f_lineno


def folder_of_program() -> Path | None:
    """The folder of the file of the program that is at work, as `line_of_program` finds it; None where it is not in a file."""
    frame = _frame_of_program()
    file = None if frame is None else frame.f_globals.get("__file__")
    if not isinstance(file, str):
        return None
    # That of a program in an archive is inside of it.
    return next((folder for folder in Path(file).absolute().parents if folder.is_dir()), None)


def _frame_of_program() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def mistakes(graph: PlainGraph, text: str, errors: Sequence[Diagnostic]) -> str:
    """A sentence on the errors of a program's workflow, which is checked as ``text``: how many, and the first, at the line of the
    program that makes its node.
    """
    first = errors[0]
    node = _node_at(graph, text.splitlines(), first.range.start.line)
    at = "" if node is None else f" at node {node.id}"
    at += f" (line {node.line})" if node is not None and node.line else ""
    problem = f"{_without_arrows(first.message)} ({first.code})"
    if len(errors) == 1:
        return f"The workflow of the program has an error{at} and is not run: {problem}"
    return f"The workflow of the program has {len(errors)} errors and is not run. The first is{at}: {problem}"


def _node_at(graph: PlainGraph, lines: Sequence[str], number: int) -> PlainNode | None:
    """The node that a line is about, an edge being that of its target, or one above it where that goes on."""
    for line in reversed(lines[: number + 1]):
        names = [word for word in _WORD.findall(line) if word in graph.by_id]
        if names:
            return graph.by_id[names[-1] if _ARROW.search(line) else names[0]]
    return None


def _without_arrows(message: str) -> str:
    """A message without the advice to draw something."""
    claim, _, advice = message.partition("; ")
    return f"{claim}." if _ARROW.search(advice) else message
