"""Thinking blocks: what a model wrote for itself between ``<think>`` and ``</think>``, taken out of its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Thinks = Literal["no", "marked", "implicit"]
"""Whether a model writes thinking blocks: none seen, between two marks, or from the start up to a closing mark alone
(where the chat template opens the block in the prompt).
"""

_BLOCK = re.compile(r"<(think|thinking)>(.*?)</\1>\s*", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"(?:\A|\n)[ \t]*<(?:think|thinking)>(.*)\Z", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(
    r"\A(.*?)(?:\n[ \t]*</(?:think|thinking)>\s*|</(?:think|thinking)>[ \t]*(?:\n|\Z))", re.DOTALL | re.IGNORECASE
)
_OPENING = ("<think>", "<thinking>")
_CLOSING = re.compile(r"</(?:think|thinking)>\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Split:
    """An answer without its thinking, the thinking, and how it was marked."""

    text: str
    thinking: str
    thinks: Thinks


def split_thinking(content: str) -> Split:
    """Take thinking out of an answer: whole blocks wherever they stand, one that is never closed where it opens the
    answer or a line, and what stands before a closing mark that nothing opened.
    """
    if "think" not in content and "THINK" not in content.upper():
        return Split(content, "", "no")
    thoughts: list[str] = []
    thinks: Thinks = "no"

    def keep(match: re.Match[str]) -> str:
        thoughts.append(match.group(2))
        return ""

    text = _BLOCK.sub(keep, content)
    if thoughts:
        thinks = "marked"
    else:
        implicit = _CLOSED.match(text)
        if implicit is not None:
            thoughts.append(implicit.group(1))
            text, thinks = text[implicit.end() :], "implicit"
    opened = _OPENED.search(text)
    if opened is not None:
        thoughts.append(opened.group(1))
        text, thinks = text[: opened.start()], "marked"
    if not thoughts:
        return Split(content, "", "no")
    return Split(text.strip(), "\n".join(thought.strip() for thought in thoughts).strip(), thinks)


class ThinkingFilter:
    """Of a streamed answer, the pieces that may be shown: all but a thinking block at its start."""

    def __init__(self, thinks: Thinks) -> None:
        self._held = ""
        self._state: Literal["start", "thinking", "answer"] = "thinking" if thinks == "implicit" else "start"

    def feed(self, piece: str) -> str:
        """What can be shown now that ``piece`` has come."""
        if self._state == "answer":
            return piece
        self._held += piece
        if self._state == "start":
            begun = self._held.lstrip().casefold()
            if any(mark.startswith(begun) and mark != begun for mark in _OPENING):
                return ""
            if not begun.startswith(_OPENING):
                return self._show(self._held)
            self._state = "thinking"
        closed = _CLOSING.search(self._held)
        return "" if closed is None else self._show(self._held[closed.end() :])

    def finish(self) -> str:
        """What is left to show at the end: the beginning of a mark that never became one."""
        return self._show(self._held) if self._state == "start" else ""

    def _show(self, text: str) -> str:
        self._state, self._held = "answer", ""
        return text
