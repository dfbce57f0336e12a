"""Sentences for the slips that are common in flowcharts, told from the line before the place where the grammar gives up."""

from __future__ import annotations

import re
from typing import NamedTuple

from merrow_analysis.syntax.reserved import WORDS, capitalised
from merrow_analysis.syntax.tree import Flaw

_NEAR = 2_000
"""Characters before the place that are looked at."""
_RESERVED = re.compile(rf"\s*({WORDS})[ \t]*", re.ASCII)
_ID_GOES_ON = re.compile(r"[ \t]*(?:[xo<]?(?:--|==|-\.)|~~~|&|:::|[\[({])|-\w", re.ASCII)
_ARROW = r"(?:-[-xo>]|=[=xo>]|\.-[xo>]?|~~)"
"""How an arrow ends."""
_EMPTY_BARS = re.compile(rf"{_ARROW}[ \t]*\|[ \t]*\"?$")
_QUOTE_WITHOUT_BAR = re.compile(rf'{_ARROW}[ \t]*"$')
_COMMENT = re.compile(r"[ \t]*(//|#)[ \t]+")
_SPACE = re.compile(r"[^\s\[\](){}|&;><\"=~.-][ \t]+$")
_STATEMENT = re.compile(r"\s*(?:subgraph|style|linkStyle|classDef|class|click|direction)\b", re.ASCII)
_TITLE = re.compile(r"\s*subgraph[ \t]")
_LABEL = re.compile(
    rf'(?:\[[(\[/\\]?|\(\(\(|\(\(|\(\[|\(|\{{\{{|\{{|{_ARROW}[ \t]*\|)[ \t]*(?P<text>"?[^\[\](){{}}|]*)$'
)
_EMPTY = re.compile(r'[\[({][ \t]*"?$')
_CLOSERS = {
    "[[": "]]",
    "[(": ")]",
    "([": "])",
    "(((": ")))",
    "((": "))",
    "{{": "}}",
    "[": "]",
    "(": ")",
    "{": "}",
}
_CLOSED = re.compile(
    rf'(?P<opener>{"|".join(map(re.escape, _CLOSERS))})(?![/\\])(?P<text>"[^"]+"|[^\[\](){{}}|"]+)(?P<closer>[\])}}]*)$'
)
_CLOSING = re.compile(r"[\])}]*")


class Slip(NamedTuple):
    """What is wrong, in a sentence, and at which place of the text."""

    flaw: Flaw
    message: str
    start: int
    end: int


def slip(text: str, at: int, on_arrow: bool) -> Slip | None:
    """The slip because of which a statement can't be read on at ``at``; None where it is none of these.

    ``on_arrow`` says that a text within an arrow is not yet at its end there.
    """
    begin = max(text.rfind("\n", 0, at) + 1, at - _NEAR)
    before, mark = text[begin:at], text[at : at + 1]
    word = _RESERVED.fullmatch(before) if begin > 0 and text[max(0, begin - _NEAR) : begin].strip() else None
    is_title = word is not None and word[1] == "subgraph" and before[-1] in " \t" and mark in "([{"
    if is_title and mark == "[":
        message = "A title in brackets needs an id before them: remove the brackets, and write it in double quotes."
        return Slip("bracket-in-label", message, at, at + 1)
    if word is not None and not is_title and _ID_GOES_ON.match(text, at):
        why = "closes a subgraph" if word[1] == "end" else "has a meaning of its own"
        message = (
            f"The word {word[1]} {why}, so it can't be a node's id: choose another id, such as {capitalised(word[1])}."
        )
        return Slip("reserved-word", message, begin + word.start(1), begin + word.end(1))
    comment = None if on_arrow else _comment(before, text, at)
    if comment is not None:
        message = f"{comment[1]} begins no comment in Mermaid: write %% at the beginning of a line of its own."
        return Slip("comment-after-statement", message, *comment.span(1))
    closed = _CLOSED.search(before)
    if closed is not None and mark and mark in "])}":
        stop = text.find("\n", at)
        rest = _CLOSING.match(text, at, len(text) if stop == -1 else stop)
        written = closed["closer"] + ("" if rest is None else rest[0])
        if written != _CLOSERS[closed["opener"]]:
            message = f"“{written}” does not close {closed['opener']}: write {_CLOSERS[closed['opener']]}."
            return Slip(
                "bracket-in-label", message, at - len(closed["closer"]), at - len(closed["closer"]) + len(written)
            )
    fields = _in_label(before, mark, on_arrow)
    return None if fields is None else Slip(*fields, at, at + 1)


def _comment(before: str, text: str, at: int) -> re.Match[str] | None:
    """What begins a comment in other languages: at ``at``, or before it, where Mermaid takes it for an id."""
    if _COMMENT.fullmatch(before):
        return _COMMENT.match(text, at - len(before))
    return _COMMENT.match(text, at) if before[-1:] in ("", " ", "\t") and _in_label(before, "", False) is None else None


def _in_label(before: str, mark: str, on_arrow: bool) -> tuple[Flaw, str] | None:
    if mark == "|" and _EMPTY_BARS.search(before):
        return "bracket-in-label", "There is no text between the bars: write one, or remove the bars."
    if mark in "])}|" and mark and _EMPTY.search(before):
        return "bracket-in-label", "There is no text in the brackets: write one, or remove the brackets."
    if _TITLE.match(before) and mark not in "\n;":
        return quotes_missing(before, mark, "title")
    if _QUOTE_WITHOUT_BAR.search(before):
        return "bracket-in-label", "The text on an arrow needs a bar | before it and after it."
    if on_arrow:
        return quotes_missing(before, mark, "text") if '"' in before + mark else None
    label = _LABEL.search(before)
    if label is not None:
        return quotes_missing(label["text"], mark, "label") if mark == "|" or label["text"].count('"') > 1 else None
    if mark in "([{" and mark and _SPACE.search(before) and not _STATEMENT.match(before):
        return "syntax-error", "A node's bracket must follow its id directly: remove the space before it."
    return None


def quotes_missing(before: str, mark: str, what: str) -> tuple[Flaw, str] | None:
    """A sentence about a mark in a text; None where the text is not to blame."""
    if '\\"' in before:
        return "bracket-in-label", rf"Mermaid does not know \": write `#quot;` for a quote in a {what}."
    if before.startswith('"'):
        return "bracket-in-label", f"A double quote ends the {what}: write `#quot;` for a quote in it."
    if '"' in before + mark:
        remedy = f"write the whole {what} in double quotes, and `#quot;` for a quote in it"
        return "bracket-in-label", f"A double quote isn't allowed in a {what} without quotes: {remedy}."
    if mark and mark in "[](){}|":
        return (
            "bracket-in-label",
            f"“{mark}” isn't allowed in a {what} without quotes: write the whole {what} in double quotes.",
        )
    return None
