r"""The box of an answer in LaTeX: ``\boxed{...}``."""

from __future__ import annotations

import re

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{|\\boxed\s+([0-9A-Za-z]+)")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def last_box(text: str) -> str | None:
    r"""What the last complete ``\boxed{...}`` has in it, by counted braces, in time linear in the text; None without one.

    ``\boxed 5`` and ``\fbox{5}`` are boxes, too. Of boxes in each other the outermost counts.
    """
    openings: set[int] = set()
    boxes: list[tuple[int, int, str]] = []
    for match in _BOX.finditer(text):
        if match[1] is None:
            openings.add(match.end() - 1)
        else:
            boxes.append((match.start(1), match.end(), match[1]))
    if not openings and not boxes:
        return None
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            start = opened.pop()
            if start in openings:
                boxes.append((start, brace.start(), ""))
    last: str | None = None
    reached = -1
    for start, end, word in sorted(boxes):
        if start > reached:
            last, reached = word or text[start + 1 : end], end
    return last
