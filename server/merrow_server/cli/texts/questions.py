"""Questions of runs to people, as texts for a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import style
from merrow_server.times import duration

_SHORT = 72
_LINES = 40
"""Lines of each value that are shown."""


def question_lines(asks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each open question: who asks, what, and until when; ``asks`` as `merrow_runtime.running.run.open_question`."""
    for ask in asks:
        text = visible(" ".join(str(ask["question"]).split()))
        short = text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."
        yield f"  {style(visible(ask['node']), bold=True)} asks: {short}{_until(ask['due'])}"


def whole_question(node: str, question: Mapping[str, Any], due: float | None) -> Iterator[str]:
    """A question with all that a person is shown."""
    yield f"{style(visible(node), bold=True)} asks{_until(due)}:"
    for section in question.get("shown", []):
        yield style(visible(str(section["title"])), dim=True)
        lines = plain(str(section["text"])).split("\n")
        yield from (f"  {line}" for line in lines[:_LINES])
        if len(lines) > _LINES:
            yield f"  ... ({len(lines) - _LINES:,} more lines)"
    for problem in question.get("problems", []):
        yield style("An earlier answer was not accepted:", fg="yellow")
        yield from (f"  {line}" for line in plain(str(problem)).split("\n"))
    yield from plain(str(question.get("ask", ""))).split("\n")


def _until(due: float | None) -> str:
    if due is None:
        return ""
    left = due - time.time()
    return f" ({duration(left)} left)" if left > 0 else " (its deadline has passed)"
