"""From the form of a line to the plan by which its statements are made, found out by the grammar.

The grammar reads one line of the form, with made-up words in its gaps. Each is in the line once, so it can be seen where every
name, text and place of the statements comes from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from merrow_analysis.syntax.characters import trim
from merrow_analysis.syntax.forms import Form, Plan, form_of
from merrow_analysis.syntax.tree import Broken, Comment, Label, LinkStyle, Name, Statement
from merrow_analysis.text import Span

_MADE_UP = {"quoted": '"Qt{:02}z"', "number": "9{:02}8", "word": "Qw{:02}z", "text": "Qs{:02}z"}
_IS_MADE_UP = re.compile(r"Q[stw][0-9]{2}z|9[0-9]{2}8")


def make_plan(form: Form, read_alone: Callable[[str], tuple[Statement, ...] | None]) -> Plan | None:
    """The plan for lines of a form, read by ``read_alone``; None where they must be read one by one."""
    line = "".join(_MADE_UP[part].format(number // 2) if number % 2 else part for number, part in enumerate(form))
    matched = form_of(line) if line.isascii() else None
    statements = read_alone(line) if matched is not None and matched[0] == form else None
    if matched is None or statements is None:
        return None
    try:
        return _Planner(line, matched[1]).plan(statements)
    except _NoPlanError:
        return None


class _NoPlanError(Exception):
    """A value is no plain part of the line's text."""


class _Planner:
    """Says of each value that was read from a made-up line where it comes from."""

    def __init__(self, line: str, places: Sequence[Span]) -> None:
        self._line, self._places = line, places

    def plan(self, value: Any) -> Plan:
        if isinstance(value, tuple):
            return ["tuple", *map(self.plan, value)]
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Label):
            if value.text != trim(self._line[slice(*value.span)]):
                raise _NoPlanError
            return ["Label", value.kind, *self._ends(value.span)]
        if isinstance(value, Name):
            # In quotes, a space in it would make a difference.
            if value.text != self._line[slice(*value.span)] or '"' in self._line[value.span[0] - 1 :][:1]:
                raise _NoPlanError
            return ["Name", *self._ends(value.span)]
        if isinstance(value, Broken | Comment | LinkStyle):
            raise _NoPlanError
        if value is None or isinstance(value, int):
            return value
        plans: list[Plan] = [type(value).__name__]
        for part in fields(value):
            inside = getattr(value, part.name)
            is_place = part.name in ("span", "body_span")
            plans.append(["place", *self._ends(inside)] if is_place else self.plan(inside))
        return plans

    def _text(self, text: str) -> Plan:
        if _IS_MADE_UP.search(text) is None:
            return text
        start = self._line.find(text)
        if start == -1:
            raise _NoPlanError
        return ["slice", *self._ends((start, start + len(text)))]

    def _ends(self, span: Span) -> list[int]:
        return [*self._end(span[0]), *self._end(span[1])]

    def _end(self, offset: int) -> tuple[int, int, int]:
        """A place as the number of a gap, whether it is from its end or its beginning, and an offset from there."""
        for gap, (start, end) in reversed(list(enumerate(self._places))):
            if offset >= end:
                return gap, 1, offset - end
            if offset >= start:
                break
        if offset != start:
            raise _NoPlanError
        return gap, 0, 0
