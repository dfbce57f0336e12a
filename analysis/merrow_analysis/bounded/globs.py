"""Glob patterns of others: of settings, and of ``.gitignore`` files.

Each is made into a regular expression that never goes back behind a star: what follows a star is taken where it comes first,
and kept (``(?>…)``), as taking it later would leave less for the rest. Only after the last star, and the last ``**``, are other
places tried, so that a search costs at most the length of the pattern times the square of that of the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

LONGEST = 1_000
"""Characters of a pattern; a longer one matches nothing."""

_STAR, _FOLDERS, _ANYTHING = "*", "**/", "**"
_NEVER = "(?!)"


def path_matches(pattern: str, path: str) -> bool:
    """Whether a pattern of the settings takes in a path: ``*`` and ``?`` stay in a folder, ``**`` between slashes doesn't.

    A pattern without a slash (but at its end) speaks of files and folders at any depth, else from the top; a folder
    takes in all that it holds.
    """
    return len(pattern) <= LONGEST and _path_pattern(pattern).fullmatch(path.removeprefix("./")) is not None


@lru_cache(maxsize=256)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    return _compiled(pattern.strip().removesuffix("/"), "(?:/.*)?")


class IgnorePattern(NamedTuple):
    """A line of a ``.gitignore``: the paths that it is about, whether it includes them again, and whether only folders."""

    expression: re.Pattern[str]
    includes: bool
    only_folders: bool


def ignore_patterns(lines: Sequence[str]) -> Iterator[IgnorePattern]:
    """The patterns of a ``.gitignore``, as git reads them; what makes no sense is left out."""
    for line in lines:
        body = _without_blanks(line)
        includes = body.startswith("!")
        body = body[1:] if includes else body
        if not body.strip("/") or line.startswith("#") or len(body) > LONGEST:
            continue
        only_folders = body.endswith("/")
        yield IgnorePattern(_compiled(body.removesuffix("/")), includes, only_folders)


def excluded(patterns: Sequence[IgnorePattern], path: str, *, is_folder: bool) -> bool | None:
    """What the last pattern that is about a path says: whether it is excluded; None where none is about it.

    ``path`` is told from the folder of the ``.gitignore``, with slashes. The folders that it is in are not looked at.
    """
    for pattern in reversed(patterns):
        if (is_folder or not pattern.only_folders) and pattern.expression.fullmatch(path) is not None:
            return not pattern.includes
    return None


def _without_blanks(line: str) -> str:
    """A line without the blanks at its end, but for one behind a backslash."""
    body = line.rstrip("\r\n").rstrip(" ")
    slashes = len(body) - len(body.rstrip("\\"))
    return body + " " if slashes % 2 and len(body) < len(line.rstrip("\r\n")) else body


def _compiled(body: str, below: str = "") -> re.Pattern[str]:
    """The expression of a pattern; ``below`` is that of what may follow it."""
    segments = body.removeprefix("/").split("/")
    parts: list[str] = [] if "/" in body else [_FOLDERS]
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "**":
            parts += [_ANYTHING] if last else [_FOLDERS]
        else:
            parts += [*_of_segment(segment), *([] if last else ["/"])]
    # `x/**` is about what is in a folder, not about the folder.
    parts += ["."] if segments[-1] == "**" else []
    return re.compile(_expression(parts) + below, re.DOTALL)


def _of_segment(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            yield _STAR
        elif char == "?":
            yield "[^/]"
        elif char == "[":
            inside, at = _of_class(text, at)
            yield inside
        elif char == "\\":
            yield re.escape(text[at]) if at < len(text) else _NEVER
            at += 1
        else:
            yield re.escape(char)


def _of_class(text: str, at: int) -> tuple[str, int]:
    """The class of characters that begins behind a bracket, and where it ends; one that never ends matches nothing."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    items: list[str] = []
    first = True
    while first or text[at : at + 1] != "]":
        first = False
        if at >= len(text):
            return _NEVER, len(text)
        at += text[at] == "\\" and at + 1 < len(text)
        low = high = text[at]
        at += 1
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            at += 1 + (text[at + 1] == "\\" and at + 2 < len(text))
            high = text[at]
            at += 1
        items += [f"{re.escape(low)}-{re.escape(high)}"] if low <= high else []
    inside = "".join(items)
    return (f"[^/{inside}]" if negated else f"(?!/)[{inside}]" if inside else _NEVER), at + 1


def _expression(parts: list[str]) -> str:
    """The expression of parts: some of the constants above, and expressions of one character or more."""
    pieces: list[list[str]] = [[]]
    wide: list[str] = [""]
    for part in parts:
        if part in (_FOLDERS, _ANYTHING):
            wide.append("(?:.*?/)??" if part == _FOLDERS else ".*?")
            pieces.append([])
        else:
            pieces[-1].append(part)
    kept = [f"(?>{before}{_chunk(piece, kept=True)})" for before, piece in zip(wide[:-1], pieces[:-1], strict=True)]
    return "".join([*kept, wide[-1], _chunk(pieces[-1], kept=False)])


def _chunk(parts: list[str], *, kept: bool) -> str:
    """What is between two ``**``. Each star takes as little as possible; what follows is ``kept``, but behind the last one."""
    runs: list[str] = [""]
    for part in parts:
        if part == _STAR:
            runs.append("")
        else:
            runs[-1] += part
    runs = [runs[0], *(run for number, run in enumerate(runs[1:], 1) if run or number == len(runs) - 1)]
    first, *others = runs
    last = len(others) - 1
    return first + "".join(
        f"(?>[^/]*?{run})" if kept or number < last else f"[^/]*{run}" for number, run in enumerate(others)
    )
