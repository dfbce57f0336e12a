"""What was made of a text in two places, put together."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.difference import line_edits
from merrow_analysis.edits.front_entries import Front, remove_entry
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines


def merging(base: str, mine: str, theirs: str) -> list[TextEdit] | None:
    """The edits that do in ``mine`` what was done from ``base`` to ``theirs``, whole lines each; None where both changed the
    same lines, or added different ones at one place.
    """
    own, others = line_edits(base, mine), line_edits(base, theirs)
    edits: list[TextEdit] = []
    moved, done = 0, 0
    for other in others:
        while done < len(own) and _before(own[done], other):
            moved += _grown(own[done])
            done += 1
        if done < len(own) and own[done] == other:
            continue
        if done < len(own) and not _before(other, own[done]):
            return None
        (first, _), (last, _) = other.range
        edits.append(TextEdit(Range(Position(first + moved, 0), Position(last + moved, 0)), other.new_text))
    return edits


def nearest(text: str, others: Iterable[str]) -> str:
    """The one of ``others`` from which the fewest lines changed, the last such; ``text`` itself where there is none."""
    best, least = text, -1
    for other in others:
        edits = line_edits(other, text)
        changed = sum(len(split_lines(edit.new_text)) + edit.range.end.line - edit.range.start.line for edit in edits)
        if least < 0 or changed <= least:
            best, least = other, changed
    return best


def without_redo(text: str, before: str) -> str:
    """A workflow without `redo` in its front matter, which is as in ``before`` where nothing else in it differs. One in which
    `redo` can't be cut out is left alone.
    """
    front = parse_diagram(text).front_matter
    if front is None or "redo" not in _said(front):
        return text
    edit = remove_entry(front, ("workflow", "redo"))
    if edit is None:
        return text
    without = apply_edits(text, [edit])
    now, was = parse_diagram(without).front_matter, parse_diagram(before).front_matter
    if now is None or _values(now) != _values(was):
        return without
    return apply_edits(without, [TextEdit(_place(now), "" if was is None else was[1].text)])


def _before(edit: TextEdit, other: TextEdit) -> bool:
    """Whether an edit lies before another one, so that both can be made. What is added at one place comes in no order."""
    if edit.range.end > other.range.start:
        return False
    is_added = edit.range.start == edit.range.end or other.range.start == other.range.end
    return not (is_added and edit.range.end == other.range.start)


def _grown(edit: TextEdit) -> int:
    """How many lines a text has more after an edit of whole lines."""
    return len(split_lines(edit.new_text)) - (edit.range.end.line - edit.range.start.line)


def _said(front: Front) -> dict[str, object]:
    workflow = read_front_matter(front[0].body, front[0].indent).values.get("workflow")
    return workflow if isinstance(workflow, dict) else {}


def _values(front: Front | None) -> dict[str, object]:
    """What a front matter says; that it is of a workflow goes without saying."""
    values = {} if front is None else dict(read_front_matter(front[0].body, front[0].indent).values)
    if values.get("workflow") in (None, True, {}):
        values.pop("workflow", None)
    return values


def _place(front: Front) -> Range:
    block = front[1]
    return Range(Position(block.line, 0), block.position(len(block.text)))
