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
    kept = [found.span() for found in _KEPT.finditer(line)]

    def is_free(found: re.Match[str]) -> bool:
        return not any(start <= found.start() < end for start, end in kept)

    begun = [found for found in _BEGUN.finditer(line) if is_free(found) and found["text"] not in names]
    if begun:
        yield f"Write {_BEGIN} {begun[0]['text']} {_ARROW}", [(*found.span("mark"), _BEGIN) for found in begun]
    wrong = [found for found in _NEARLY.finditer(line) if is_free(found) and not _RIGHT.fullmatch(found[0])]
    if wrong:
        yield f"Write {_arrow(wrong[0][0])}", [(*found.span(), _arrow(found[0])) for found in wrong]
    back = _BACK.fullmatch(line)
    if back is not None:
        arrow = f"{back[3]} {_ARROW} {back[2]}"
        yield f"Write {arrow}", [(len(back[1]), len(line.rstrip()), arrow)]
    bare = [found for found in _WITHOUT_ARROW.finditer(line) if is_free(found)]
    if bare:
        yield f"Write {_ARROW}", [(*found.span(), f" {_ARROW}") for found in bare]
    labels = list(_TEXT_BEHIND.finditer(line))
    if labels:
        said = [(found[1], found[2] or found[3]) for found in labels]
        changes = [(*found.span(), f"{arrow}|{text}| ") for found, (arrow, text) in zip(labels, said, strict=True)]
        yield f"Write |{said[0][1]}|", changes
    lists = [found for found in _LISTED.finditer(line) if is_free(found)]
    if lists and all(name in names for found in lists for name in _BETWEEN.split(found[0])):
        joined = [" & ".join(_BETWEEN.split(found[0])) for found in lists]
        yield f"Write {joined[0]}", [(*found.span(), text) for found, text in zip(lists, joined, strict=True)]


def _arrow(written: str) -> str:
    return "-.->" if "." in written else _ARROW
