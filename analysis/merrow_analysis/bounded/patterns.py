r"""Regular expressions of Python's `re`, searched for in a number of steps that grows with pattern times text.

Python's own search may take a time that doubles with each character. Here all places that a part of the pattern leads to are
followed together, each once; single characters and places (`[a-z]`, `\b`) are still matched by `re`. What can't be searched
for in this way is refused: references to groups, and parts that keep what they matched (`(?>…)`, `a++`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

from merrow_analysis.bounded.allowance import Allowance

LONGEST = 10_000
"""Characters of a pattern."""

_DEEPEST = 30
_MOST_WIDE = 100
_LAST_NARROW = 255

_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")
_signs: Any = import_module("re._constants")

Places = set[int]
Part = Callable[[str, Places, Allowance], Places]
"""Takes the places where it may begin, and gives those where it may end."""


class PatternError(ValueError):
    """A pattern can't be used; a sentence without its end says why."""


def check_pattern(pattern: str) -> None:
    """Raise `PatternError` for what is no regular expression of Python, or takes long to be read as one."""
    _parsed(pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, RecursionError, ValueError, OverflowError, MemoryError) as problem:
        raise PatternError(str(problem)) from None


Search = Callable[[str, Allowance], bool]
"""Whether a pattern is found in a text, as ``re.search`` says. Raises `TooMuchError` where the allowance is used up."""


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Search:
    """How a pattern is searched for. Raises `PatternError`."""
    check_pattern(pattern)
    parsed = _parsed(pattern)
    flags = parsed.state.flags
    first = parsed[0] if len(parsed) else None
    anchors = (
        (_signs.AT_BEGINNING_STRING,) if flags & re.MULTILINE else (_signs.AT_BEGINNING, _signs.AT_BEGINNING_STRING)
    )
    part = _Builder(parsed.state).row(parsed, flags, 0)
    only_at_start = first is not None and first[0] is _signs.AT and first[1] in anchors

    def search(text: str, allowance: Allowance) -> bool:
        allowance.take(len(text) + 1)
        return bool(part(text, {0} if only_at_start else set(range(len(text) + 1)), allowance))

    return search


def _parsed(pattern: str) -> Any:
    if len(pattern) > LONGEST:
        raise PatternError(f"it is longer than {LONGEST:,} characters; shorten it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(pattern)
    except (re.error, RecursionError, ValueError, OverflowError, MemoryError) as problem:
        raise PatternError(str(problem) or "it nests too deep") from None
    # Python takes some milliseconds to read each class of characters beyond the first 256.
    wide = 0
    waiting = [parsed]
    for items in waiting:  # It grows meanwhile.
        for sign, argument in items:
            wide += sign is _signs.IN and any(_is_wide(*item) for item in argument)
            waiting += _inner(argument)
    if wide > _MOST_WIDE:
        raise PatternError(f"it has more than {_MOST_WIDE} classes of characters beyond U+00FF; write a shorter one")
    return parsed


def _is_wide(sign: Any, argument: Any) -> bool:
    return (sign is _signs.RANGE and argument[1] > _LAST_NARROW) or (sign is _signs.LITERAL and argument > _LAST_NARROW)


def _inner(argument: Any) -> Iterable[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for part in argument:
            yield from _inner(part) if isinstance(part, (list, tuple, _parser.SubPattern)) else ()


_ONE_CHARACTER = (_signs.LITERAL, _signs.NOT_LITERAL, _signs.ANY, _signs.IN)


class _Builder:
    """Makes the parts of one pattern."""

    def __init__(self, state: Any) -> None:
        self._groups = state

    def row(self, parsed: Any, flags: int, depth: int) -> Part:
        """Parts that follow each other."""
        if depth > _DEEPEST:
            raise PatternError(f"its parts nest more than {_DEEPEST} deep; write a simpler one")
        parts = [self._part(sign, argument, flags, depth + 1) for sign, argument in parsed]

        def follow(text: str, places: Places, allowance: Allowance) -> Places:
            for part in parts:
                if not places:
                    break
                allowance.take(1)
                places = part(text, places, allowance)
            return places

        return follow

    def _part(self, sign: Any, argument: Any, flags: int, depth: int) -> Part:
        if sign in _ONE_CHARACTER or sign is _signs.AT:
            return _single(self._compile(sign, argument, flags))
        if sign is _signs.BRANCH:
            return _either([self.row(branch, flags, depth) for branch in argument[1]])
        if sign is _signs.SUBPATTERN:
            _, more, fewer, inner = argument
            return self.row(inner, (flags | more) & ~fewer, depth)
        if sign in (_signs.MAX_REPEAT, _signs.MIN_REPEAT):
            least, most, inner = argument
            if most is _signs.MAXREPEAT and len(inner) == 1 and inner[0][0] in _ONE_CHARACTER:
                run = self._compile(_signs.MAX_REPEAT, (0, most, inner), flags)
                return _run(int(least), run)
            return _repeated(int(least), int(most), self.row(inner, flags, depth))
        if sign in (_signs.ASSERT, _signs.ASSERT_NOT):
            direction, inner = argument
            width = 0 if direction > 0 else int(inner.getwidth()[0])
            return _looked(self.row(inner, flags, depth), width, ahead=direction > 0, wanted=sign is _signs.ASSERT)
        if sign is _signs.FAILURE:
            return lambda _text, _places, _allowance: set()
        raise PatternError(
            "it refers to a group, or has a part that gives nothing back, such as `a++`; write it without"
        )

    def _compile(self, sign: Any, argument: Any, flags: int) -> re.Pattern[str]:
        single = _parser.SubPattern(_parser.State(), [(sign, argument)])
        single.state.flags = flags
        single.state.str = ""
        compiled: re.Pattern[str] = _compiler.compile(single, flags)
        return compiled


def _single(pattern: re.Pattern[str]) -> Part:
    def match(text: str, places: Places, allowance: Allowance) -> Places:
        allowance.take(2 * len(places) + 1)
        matches = (pattern.match(text, place) for place in places)
        return {match.end() for match in matches if match is not None}

    return match


def _either(ways: list[Part]) -> Part:
    def match(text: str, places: Places, allowance: Allowance) -> Places:
        reached: Places = set()
        for way in ways:
            allowance.take(1)
            reached |= way(text, places, allowance)
        return reached

    return match


def _repeated(least: int, most: int, inner: Part) -> Part:
    def match(text: str, places: Places, allowance: Allowance) -> Places:
        for _ in range(least):
            if not places:
                return places
            allowance.take(1)
            before, places = places, inner(text, places, allowance)
            if places == before:
                break
        reached = set(places)
        turns = least
        # A place that is reached again later leads nowhere else: it has fewer turns left.
        while places and turns < most:
            allowance.take(len(places) + 1)
            places = inner(text, places, allowance) - reached
            reached |= places
            turns += 1
        return reached

    return match


def _run(least: int, run: re.Pattern[str]) -> Part:
    """One character again and again: how far that goes is the same for all places in a run of it."""

    def match(text: str, places: Places, allowance: Allowance) -> Places:
        reached: Places = set()
        end = -1
        for place in sorted(places):
            allowance.take(1)
            if place <= end:
                continue
            same = run.match(text, place)
            end = place if same is None else same.end()
            allowance.take(end - place)
            reached.update(range(place + least, end + 1))
        return reached

    return match


def _looked(inner: Part, width: int, *, ahead: bool, wanted: bool) -> Part:
    def match(text: str, places: Places, allowance: Allowance) -> Places:
        reached: Places = set()
        for place in places:
            allowance.take(1)
            begin = place - width
            ends = inner(text, {begin}, allowance) if begin >= 0 else set()
            if (bool(ends) if ahead else place in ends) is wanted:
                reached.add(place)
        return reached

    return match
