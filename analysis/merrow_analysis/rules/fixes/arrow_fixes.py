"""Repairs of arrows as people write them elsewhere: ``A -> B``, ``A → B``, ``A --> B, C``. Each is tried on the grammar first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.text import Position, Range, TextEdit

_LONGEST = 500
"""Characters of a line in which arrows are looked for."""
_ARROW = "-->"
_BEGIN = "--"
_KEPT = re.compile(r'"[^"]*"|\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\}|\|[^|]*\||@\{[^{}]*\}')
"""What an arrow is not looked for in: labels, and the texts of nodes."""
_NEARLY = re.compile(r"[-–—=.]+(?:[ ]?[-–—=.]+)*[ ]?[>→⇒]+|[→⇒]|(?<=\s)[–—-](?=\s)|(?<=\s)>{1,2}(?=\s)")
_RIGHT = re.compile(r"(?:--+|==+|-\.+-)>|---+|===+|-\.+-")
_BACK = re.compile(r"(\s*)([\w-]*\w)\s*<[-=.]+\s*(\w[\w-]*)\s*;?\s*")
_WITHOUT_ARROW = re.compile(r"(?<=[\w\])}])\s*(?=\|[^|]+\|)")
_TEXT_BEHIND = re.compile(r'(--+>|==+>|-\.+->)\s*(?:\[([^\[\]"|]+)\]|"([^"|]+)")\s*(?=\w)')
_BEGUN = re.compile(r"(?<=\s)(?P<mark>[-–—])\s+(?P<text>\w[^\[\](){}|<>&;=\"-]*?)\s+(?=--+>)")
"""A text on an arrow that has one dash before it."""
_LISTED = re.compile(r"\w[\w-]*(?:\s*(?:,|\band\b)\s*\w[\w-]*)+")
_BETWEEN = re.compile(r"\s*(?:,|\band\b)\s*")


def arrows_meant(line_number: int, line: str, names: Collection[str], reads: Callable[[str], bool]) -> Iterator[Fix]:
    """The repairs of a line after which it ``reads``; ``names`` are the nodes of the workflow."""
    if len(line) > _LONGEST:
        return
    seen = {line}
    for title, changes in _tries(line, names):
        after = line
        for start, end, text in reversed(changes):
            after = after[:start] + text + after[end:]
        if after not in seen and reads(after):
            seen.add(after)
            edits = [
                TextEdit(Range(Position(line_number, start), Position(line_number, end)), text)
                for start, end, text in changes
            ]
            yield Fix(title, tuple(edits), Applicability.UNSAFE)


_Change = tuple[int, int, str]


def _tries(line: str, names: Collection[str]) -> Iterator[tuple[str, list[_Change]]]:
    kept = [match.span() for match in _KEPT.finditer(line)]

    def is_free(match: re.Match[str]) -> bool:
        return not any(start <= match.start() < end for start, end in kept)

    begun = [match for match in _BEGUN.finditer(line) if is_free(match) and match["text"] not in names]
    if begun:
        yield f"Write {_BEGIN} {begun[0]['text']} {_ARROW}", [(*match.span("mark"), _BEGIN) for match in begun]
    wrong = [match for match in _NEARLY.finditer(line) if is_free(match) and not _RIGHT.fullmatch(match[0])]
    if wrong:
        yield f"Write {_arrow(wrong[0][0])}", [(*match.span(), _arrow(match[0])) for match in wrong]
    back = _BACK.fullmatch(line)
    if back is not None:
        arrow = f"{back[3]} {_ARROW} {back[2]}"
        yield f"Write {arrow}", [(len(back[1]), len(line.rstrip()), arrow)]
    bare = [match for match in _WITHOUT_ARROW.finditer(line) if is_free(match)]
    if bare:
        yield f"Write {_ARROW}", [(*match.span(), f" {_ARROW}") for match in bare]
    labels = list(_TEXT_BEHIND.finditer(line))
    if labels:
        arrows = [(match[1], match[2] or match[3]) for match in labels]
        changes = [(*match.span(), f"{arrow}|{text}| ") for match, (arrow, text) in zip(labels, arrows, strict=True)]
        yield f"Write |{arrows[0][1]}|", changes
    lists = [match for match in _LISTED.finditer(line) if is_free(match)]
    if lists and all(name in names for match in lists for name in _BETWEEN.split(match[0])):
        joined = [" & ".join(_BETWEEN.split(match[0])) for match in lists]
        yield f"Write {joined[0]}", [(*match.span(), text) for match, text in zip(lists, joined, strict=True)]


def _arrow(written: str) -> str:
    return "-.->" if "." in written else _ARROW
