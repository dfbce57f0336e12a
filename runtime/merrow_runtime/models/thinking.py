"""Thinking blocks: what a model wrote for itself between ``<think>`` and ``</think>``, taken out of its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from merrow_runtime.models.endpoint import OnText

Thinks = Literal["no", "marked", "implicit"]
"""Whether a model writes thinking blocks: none seen, between two marks, or from the start up to a closing mark alone
(where the chat template opens the block in the prompt).
"""

_MARK = re.compile(r"<(/?)(think|thinking)>", re.IGNORECASE)
_BLANKS = re.compile(r"\s*")
_OPENED = re.compile(r"(?:\A|\n)[ \t]*<(?:think|thinking)>(.*)\Z", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(
    r"\A(.*?)(?:\n[ \t]*</(?:think|thinking)>\s*|</(?:think|thinking)>[ \t]*(?:\n|\Z))", re.DOTALL | re.IGNORECASE
)
_OPENING = ("<think>", "<thinking>")
_CLOSING = re.compile(r"</(?:think|thinking)>\s*", re.IGNORECASE)
_LONGEST_MARK = len("</thinking>")


@dataclass(frozen=True, slots=True)
class SplitAnswer:
    """An answer without its thinking, the thinking, and how it was marked."""

    text: str
    thinking: str
    thinks: Thinks


def split_thinking(content: str) -> SplitAnswer:
    """Take thinking out of an answer: whole blocks wherever they stand, one that is never closed where it opens the
    answer or a line, and what stands before a closing mark that nothing opened.
    """
    if "think" not in content and "THINK" not in content.upper():
        return SplitAnswer(content, "", "no")
    thinks: Thinks = "no"
    text, thoughts = _without_blocks(content)
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
        return SplitAnswer(content, "", "no")
    return SplitAnswer(text.strip(), "\n".join(thought.strip() for thought in thoughts).strip(), thinks)


def _without_blocks(content: str) -> tuple[str, list[str]]:
    """The text outside whole blocks and the thoughts inside them. Each mark is looked at once, however many there are."""
    marks = list(_MARK.finditer(content))
    closings = {"think": -1, "thinking": -1}
    closing_of = [-1] * len(marks)
    for index in range(len(marks) - 1, -1, -1):
        name = marks[index][2].casefold()
        if marks[index][1]:
            closings[name] = index
        else:
            closing_of[index] = closings[name]
    kept: list[str] = []
    thoughts: list[str] = []
    index = at = 0
    while index < len(marks):
        closing = closing_of[index]
        if closing < 0:
            index += 1
            continue
        kept.append(content[at : marks[index].start()])
        thoughts.append(content[marks[index].end() : marks[closing].start()])
        blanks = _BLANKS.match(content, marks[closing].end())
        at = marks[closing].end() if blanks is None else blanks.end()
        index = closing + 1
    kept.append(content[at:])
    return "".join(kept), thoughts


class ThinkingFilter:
    """Of a streamed answer, the pieces that may be shown: all but a thinking block at its start.

    Each character is looked at a fixed number of times, in however many pieces the answer comes.
    """

    def __init__(self, thinks: Thinks) -> None:
        self._held: list[str] = []
        self._begun = ""
        self._tail = ""
        self._state: Literal["start", "thinking", "thought", "answer"] = "thinking" if thinks == "implicit" else "start"

    def feed(self, piece: str) -> str:
        """What can be shown now that ``piece`` has come."""
        if self._state == "answer":
            return piece
        if self._state == "thought":
            # White space between the block and the answer belongs to neither, in whichever piece it comes.
            piece = piece.lstrip()
            return self._show(piece) if piece else ""
        if self._state == "start":
            self._held.append(piece)
            self._begun += piece if self._begun else piece.lstrip()
            begun = self._begun[:_LONGEST_MARK].casefold()
            if any(mark.startswith(begun) and mark != begun for mark in _OPENING):
                return ""
            if not begun.startswith(_OPENING):
                return self._show("".join(self._held))
            self._state, piece = "thinking", self._begun
        # Only the end of what came before can be the beginning of a mark that this piece completes.
        searched = self._tail + piece
        closed = _CLOSING.search(searched)
        if closed is not None:
            text = searched[closed.end() :]
            if not text:
                self._state = "thought"
                return ""
            return self._show(text)
        self._tail = searched[1 - _LONGEST_MARK :]
        return ""

    def finish(self) -> str:
        """What is left to show at the end: the beginning of a mark that never became one."""
        return self._show("".join(self._held)) if self._state == "start" else ""

    def _show(self, text: str) -> str:
        self._state = "answer"
        return text


class Shown:
    """What of an answer is shown while it comes, to ``on_text`` where there is one: all but its thinking."""

    def __init__(self, thinks: Thinks, on_text: OnText | None) -> None:
        self._filter, self._on_text = ThinkingFilter(thinks), on_text

    def feed(self, piece: str) -> None:
        """A piece has come."""
        self._show(self._filter.feed(piece))

    def finish(self) -> None:
        """The last piece has come."""
        self._show(self._filter.finish())

    def at_once(self, content: str) -> None:
        """The answer has come as one piece, though it may have been asked for in several."""
        if self._on_text is not None:
            self._show(split_thinking(content).text)

    def _show(self, text: str) -> None:
        if text and self._on_text is not None:
            self._on_text(text)
