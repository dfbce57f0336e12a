"""The fast path: a line of the same form as one that the grammar has read is not read again.

The form of a line is what is left when its names, numbers and texts are taken out. Lines of one form have the same statements
but for these, so for all of them the grammar reads one (`form_plans`). That gives a plan: where in a line each name, text and
place comes from. The plans of the commonest forms are in ``forms.tsv``, so that most files are read without loading lark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data
from sys import intern
from typing import Any

from merrow_analysis.shared_values import RecentValues
from merrow_analysis.syntax import tree
from merrow_analysis.syntax.characters import trim
from merrow_analysis.text import Span

_MODES = frozenset(("href", "click", "call", "linkStyle", "interpolate", "graph", "flowchart", "accTitle", "accDescr"))
"""Words after which the lexer reads on in a mode of its own, where another text may be another token."""
RESERVED = _MODES.union(
    ("style", "default", "classDef", "class", "subgraph", "end", "v", "_self", "_blank", "_parent", "_top")
)
"""Words that are tokens of their own: they belong to the form."""
# What may be more than a text belongs to the form: an "x" or "o" that touches an arrow, a slash or dash beside a bracket,
# entities, "~", "^", and markdown.
_BETWEEN = r"""(?=[\w ]|[^\0-\x7f])[^\[\](){}|"~#^\r\n]+(?<![-/\\])"""
_WORD = r"(?:[A-Za-np-wyz_]|(?<![-=.])[xo])[A-Za-z0-9_]*+(?:(?<![xo])|(?![-=.]))"
_QUOTED = r"""(?!`)[^"~#\r\n]+"""
_GAP = re.compile(rf"""((?<=[\[({{|]){_BETWEEN}(?=[\])}}|])|{_WORD}|[0-9]+|"{_QUOTED}")""", re.ASCII)
_GAPS = {"text": f"({_BETWEEN})", "word": f"({_WORD})", "number": "([0-9]++)", "quoted": f'"({_QUOTED})"'}
"""The kinds of gaps. The text in quotes is a gap, the quotes are not."""
_LONGEST, _MOST_PARTS = 2_000, 100
_COMMON = 8
"""Lines of a form until it gets a pattern, which takes as long to compile as some lines take to read."""

Form = tuple[str, ...]
"""What stands before the first gap, the kind of this gap, what stands after it, and so on."""
Plan = Any
"""How a value is made from a line, as JSON: a constant; ``["place", *ends]``, ``["slice", *ends]``; ``["tuple", *plans]``;
``["Name", *ends]`` and ``["Label", kind, *ends]``, whose texts are at their places; and the name of another class of `tree`
with the plans of its fields. ``ends`` are two places, each the number of a gap, whether from its end (1) or beginning (0), and
an offset from there. Gap 1 is the first; 0 is the white space that the line begins with.
"""
_Statements = tuple[tree.Statement, ...]
_Places = tuple[Span, ...]
_Pattern = Callable[[str], "re.Match[str] | None"]
_Maker = Callable[[str, _Places], "_Statements | None"]


@dataclass(slots=True)
class _FormReader:
    """What is known of a form."""

    make: _Maker | None = None
    """Makes the statements of its lines from a line and the places of the gaps; None while a single line had this form."""
    lines: int = 0
    """How many lines it has read without a pattern."""


def read_line(line: str, plan_of: Callable[[Form], Plan | None]) -> _Statements | None:
    """The statements of a line without its line ending, or None where it has to be read with the lines around it.

    ``plan_of`` has the grammar make the plan of a form; None where its lines are broken, or the next line may change them.
    """
    if not line.strip(" \t"):
        return ()
    if "%%" in line or '="' in line or "direction" in line or len(line) > _LONGEST:
        return None
    marks = line.translate(_NOT_MARKS)
    alike = _BY_MARKS.get(marks) or ()
    for fits, make in alike:
        match = fits(line)
        if match is not None and RESERVED.isdisjoint(match.groups()):
            return make(line, match.regs[1:])
    matched = form_of(line)
    if matched is None:
        return None
    form, places = matched
    reader = _READERS.get(form)
    if reader is None:
        known = known_plans().get(json.dumps(form, separators=(",", ":")))
        reader = _READERS.keep(form, _FormReader() if known is None else _FormReader(_maker(json.loads(known))))
        if known is None:
            return None
    if reader.make is None:
        reader.make = _maker(plan_of(form))
    reader.lines += 1
    if reader.lines >= _COMMON:
        _BY_MARKS.keep(marks, ((_pattern(form), reader.make), *alike[: _MOST_ALIKE - 1]))
    return reader.make(line, places)


_READERS: RecentValues[Form, _FormReader] = RecentValues(1_000)
_BY_MARKS: RecentValues[str, tuple[tuple[_Pattern, _Maker], ...]] = RecentValues(1_000)
"""The common forms that lines with the same brackets and arrows had last: tried first, which is quicker than `form_of`."""
_NOT_MARKS = {code: None for code in range(128) if chr(code) not in '[](){}|"&-=@'}
_MOST_ALIKE = 5


def form_of(line: str) -> tuple[Form, _Places] | None:
    """The form of a line and the places of its gaps, the white space before it first; None for a line that is like no other."""
    content = line.lstrip(" \t")
    parts = _GAP.split(content)
    if len(parts) > _MOST_PARTS or not _MODES.isdisjoint(parts):
        return None
    start = len(line) - len(content)
    places = [(0, start)]
    form = parts[:1]
    end = start + len(parts[0])
    for gap, after in zip(parts[1::2], parts[2::2], strict=True):
        start, end = end, end + len(gap)
        if gap in RESERVED:
            form[-1] += gap + after
        elif gap[0] == '"':
            form += "quoted", after
            places.append((start + 1, end - 1))
        else:
            is_between = form[-1][-1:] in _OPENERS and after[:1] in _CLOSERS
            form += "text" if is_between else "number" if gap[0] in "0123456789" else "word", after
            places.append((start, end))
        end += len(after)
    return tuple(form), tuple(places)


_OPENERS, _CLOSERS = frozenset("[({|"), frozenset("])}|")


@cache
def known_plans() -> dict[str, str]:
    """The plans that ``forms.tsv`` has, by their forms; both as JSON, since a file needs few of them."""
    rows = (get_data("merrow_analysis.syntax", "forms.tsv") or b"").decode().splitlines()
    return dict(row.split("\t") for row in rows)


def _pattern(form: Form) -> _Pattern:
    """Matches the lines of a form; its groups are the gaps."""
    pattern = "".join(_GAPS[part] if number % 2 else re.escape(part) for number, part in enumerate(form))
    return re.compile(r"([ \t]*+)" + pattern, re.ASCII).fullmatch


def _maker(plan: Plan) -> _Maker:
    """A function that carries out a plan. It is compiled, since it runs for every line of a large file.

    What is compiled has numbers and the names of classes of `tree`, and nothing of the line's text.
    """
    constants: list[str | int | None] = []
    source = f"lambda line, places: {_expression(plan, constants)}"
    return eval(source, {**_NAMES, "constants": constants})  # type: ignore[no-any-return] # noqa: S307


_NAMES = {"__builtins__": {}, "intern": intern, "trim": trim}
_NAMES |= {
    each.__name__: each
    for each in (*tree.Statement.__args__, tree.Arrow, tree.Label, tree.Metadata, tree.Name, tree.Vertex)
}


def _expression(plan: Plan, constants: list[str | int | None]) -> str:
    if plan is None:
        return "None"
    if not isinstance(plan, list):
        constants.append(plan)
        return f"constants[{len(constants) - 1}]"
    kind, *rest = plan
    if kind == "place":
        return _place(*rest)
    if kind == "slice":
        return _slice(*rest)
    if kind == "Name":
        # A file names each node several times: interned, the names take little memory and are found quickly.
        return f"Name(intern({_slice(*rest)}), {_place(*rest)})"
    if kind == "Label":
        return f"Label(trim({_slice(*rest[1:])}), {_expression(rest[0], constants)}, {_place(*rest[1:])})"
    values = "".join(f"{_expression(part, constants)}, " for part in rest)
    return f"({values})" if kind == "tuple" else f"{kind}({values})"


def _place(*ends: int) -> str:
    gap, side, offset, last, last_side, end = ends
    if gap == last and (side, offset, last_side, end) == (0, 0, 1, 0):
        return f"places[{gap:d}]"
    return f"({_end(gap, side, offset)}, {_end(last, last_side, end)})"


def _slice(*ends: int) -> str:
    return f"line[{_end(*ends[:3])}:{_end(*ends[3:])}]"


def _end(gap: int, side: int, offset: int) -> str:
    return f"places[{gap:d}][{side:d}]" + (f" + {offset:d}" if offset else "")
