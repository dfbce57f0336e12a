"""The menu of moves that a model may choose from: safe mutations by id, evenly drawn from all operators."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random

from merrow_analysis.check import Analysis
from merrow_analysis.text import Range, apply_edits, split_lines
from merrow_optimizer.mutations.base import Move, MoveRefusal
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.effects import structure
from merrow_optimizer.mutations.moves import changes, find
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.suggestions.allowed import may_be_new, what_is_forbidden
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.refusals import Unusable

MOST = 40
_TRIED = 400
"""Proposals of one operator that are looked at for a menu."""
_NUMBER = re.compile(r"_\d+\b")
"""What a new node's name has behind it where another node has the name."""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A safe mutation of the workflow. ``about`` is what it is about, as the text says it."""

    id: str
    operator: str
    title: str
    effect: str
    about: str


def menu_of(ground: Ground, nodes: Collection[str] = (), seed: int = 0) -> tuple[MenuEntry, ...]:
    """Up to `MOST` safe mutations that a suggestion may make; with ``nodes`` only those about these. The same text and seed
    give the same menu.
    """
    chance = Random(f"{seed} menu")  # noqa: S311 (no secret)
    original = Original(ground.analysis)
    entries: dict[str, MenuEntry] = {}
    drawers = [_drawn(ground, original, operator, nodes, chance) for operator in ground.choice.operators]
    while drawers and len(entries) < MOST:
        for drawer in list(drawers):
            entry = next(drawer, None)
            if entry is None:
                drawers.remove(drawer)
            elif len(entries) < MOST:
                entries.setdefault(entry.id, entry)
    return tuple(entries.values())


def _drawn(
    ground: Ground, original: Original, operator: str, nodes: Collection[str], chance: Random
) -> Iterator[MenuEntry]:
    proposals = original.remembered(ground.choice.listed(operator))
    order = range(len(proposals))
    for number in chance.sample(order, min(_TRIED, len(order))):
        change = proposals[number]()
        if not _is_offered(change, nodes):
            continue
        move = ground.choice.make_if_safe(change)
        if move is not None and not _is_forbidden(ground, move):
            about = _about(ground.text, move.target)
            yield MenuEntry(move.id, move.operator, move.title, structure(move.difference), about)


def _is_offered(change: Mutation, nodes: Collection[str]) -> bool:
    """Whether a change is one of the kinds that are offered, and about one of these nodes where there are any."""
    if change.turns or not all(may_be_new(new.spec) for new in change.written):
        return False
    return not nodes or any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", change.title) for name in nodes)


def _is_forbidden(ground: Ground, move: Move) -> bool:
    return bool(what_is_forbidden(ground.analysis, ground.read(move.apply(ground.text))))


def _about(text: str, place: Range) -> str:
    """The text at a place, without blanks that may differ."""
    lines = split_lines(text)
    (first, start), (last, end) = place
    if last >= len(lines):
        last, end = len(lines) - 1, len(lines[-1])
    inside = [*lines[first:last], lines[last][:end]]
    inside[0] = inside[0][start:]
    return " ".join("".join(inside).split())


def applied(ground: Ground, text: str, analysis: Analysis, identifier: str, menu: Collection[MenuEntry]) -> str:
    """The text after the mutation with an id. One whose id is stale, since earlier moves changed what it depends on, is looked
    up by its operator and what it is about. Raises `Unusable`.
    """
    entry = next((offered for offered in menu if offered.id == identifier), None)
    if entry is None:
        raise Unusable("read", [f"The menu has no mutation {identifier[:40]}."])
    move = find(analysis, identifier, ground.choice)
    if move is None:
        move = _looked_up(ground, text, analysis, entry)
    if move is None:
        raise Unusable("read", [f"After the moves before it, {entry.title} is not possible any more."])
    if isinstance(move, MoveRefusal):
        raise Unusable("read", [f"After the moves before it, {entry.title} is not safe: {move.reason}"])
    if move.created:
        raise Unusable("allowed", [f"{entry.title} would write another file."])
    return apply_edits(text, move.edits)


def _looked_up(ground: Ground, text: str, analysis: Analysis, entry: MenuEntry) -> Move | None:
    if analysis.typed is None:
        return None
    original = Original(analysis)
    wanted = _NUMBER.sub("", entry.title)
    for change in changes(original, ground.choice):
        if (
            change.operator == entry.operator
            and _NUMBER.sub("", change.title) == wanted
            and _about(text, change.target) == entry.about
            and _is_offered(change, ())
        ):
            move = ground.choice.make_if_safe(change)
            if move is not None:
                return move
    return None
