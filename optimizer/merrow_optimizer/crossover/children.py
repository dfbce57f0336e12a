"""Crossover: two workflows cut at matching typed interfaces, and the parts put together again.

A child is the text of one parent, the host, of which a part behind a cut gives way to a part of the other parent, the
donor: everything behind the donor's cut, or what lies between two of its cuts; so some node of each parent is in it. Why a
child of valid parents is valid: at each cut one value (or the candidates of one ensemble) crosses that is always there. It
is of the type that crossed in the other parent, or goes only to ports of a fixed type that take it; then nothing behind the
cut can tell the difference. Where it goes to ports whose type depends on it, the child's types are inferred again, and every
consumer must still fit.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.graph.measures.kept_effects import acting, why_not_kept
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.tree import Comment
from merrow_optimizer.crossover.cuts import Cut, cuts, matches, spread
from merrow_optimizer.crossover.joint import Joint, join
from merrow_optimizer.joining.merged_names import NamesError
from merrow_optimizer.mutations.base import move_id
from merrow_optimizer.mutations.operator_names import CROSSOVER
from merrow_optimizer.mutations.original import why_unchangeable

_MOST_PARTS = 8
"""Cuts of a parent between which parts are taken: pairs of pairs of cuts grow fast."""


class CrossoverRefusedError(ValueError):
    """These two workflows have no child; ``str()`` is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class CutPlace:
    """Where one parent was cut: its title, the values that cross as ``NODE.output``, where they led, and their type."""

    title: str
    values: tuple[str, ...]
    into: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Child:
    """A workflow with two parents. ``host`` and ``donor`` are their numbers, 0 or 1, ``cuts`` both parents' cuts.

    A parent has one cut, or two where a part between two of them was exchanged.
    """

    id: str
    title: str
    host: int
    donor: int
    cuts: tuple[tuple[CutPlace, ...], tuple[CutPlace, ...]]
    text: str


Names = tuple[str, str]
_NAMES = ("A", "B")


class _ChildPlan(NamedTuple):
    """A child before it is written; ``is_exact`` says that no type in it differs from what it was in its parent."""

    host: int
    joint: Joint
    is_exact: bool

    @property
    def is_preferred(self) -> bool:
        joint = self.joint
        if not (joint.host_from.is_preferred and joint.donor_from.is_preferred):
            return False
        mine, theirs = joint.host_to, joint.donor_to
        return (mine is None or mine.is_preferred) and (theirs is None or theirs.is_preferred)


def children(first: Analysis, second: Analysis, *, together: bool = True) -> Iterator[Child]:
    """Every child of two valid workflows, lazily: those cut at ensembles and at the ends come first.

    ``together`` says that both lie in one folder. Where they don't, no Call goes from one to the other: its path leads elsewhere
    from there.

    Each text comes once, and none is a parent's. Raises `CrossoverRefusedError` where a parent can't be one.
    """
    parents = _parents(first, second)
    seen = {_text(first), _text(second)}
    plans = list(_plans(parents))
    plans.sort(key=lambda plan: not plan.is_preferred)
    for plan in plans:
        child = _child(plan, (first, second)) if together or not _takes_call(plan) else None
        if child is not None and child.text not in seen:
            seen.add(child.text)
            yield child


def crossover(first: Analysis, second: Analysis, seed: int = 0, *, together: bool = True) -> tuple[Child, ...]:
    """Two children of a pair of cuts chosen by ``seed``: one part of each parent with the other part of the other.

    The same parents and seed give the same children everywhere. There may be one child only, where the other one would
    be a parent again. ``together`` as in `children`. Raises `CrossoverRefusedError` where there is none at all.
    """
    return tuple(drawn_children(first, second, seed, together=together))


def drawn_children(
    first: Analysis, second: Analysis, seed: int = 0, *, together: bool = True, names: Names = _NAMES
) -> Iterator[Child]:
    """The children of `crossover`, each made when it is asked for. ``names`` is what titles call the two workflows. Raises
    `CrossoverRefusedError` with the first.
    """
    parents = _parents(first, second)
    both = (first, second)
    plans = [plan for plan in _plans(parents) if together or not _takes_call(plan)]
    chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated, no secret
    groups = _by_weight(plans, chance)
    known = {_text(first), _text(second)}
    for group in groups:
        for plan in chance.sample(group, len(group)):
            twin = _twin(plan, plans)
            is_found = False
            for candidate in (plan, twin):
                child = _child(candidate, both, names) if candidate is not None else None
                if child is not None and child.text not in known:
                    known.add(child.text)
                    is_found = True
                    yield child
            if is_found:
                return
    raise CrossoverRefusedError(
        "The two workflows have no child: no cut at which their types match gives a workflow other than these two."
    )


def _takes_call(plan: _ChildPlan) -> bool:
    """Whether a Call of the donor's comes into the host's text."""
    graph = plan.joint.donor_from.graph
    return any(called_path(graph.by_id[node].resolution) is not None for node in plan.joint.taken)


_WEIGHTS = (4, 2, 1)
"""How often to begin with tails cut at ensembles and ends, with parts between such cuts, with all others."""


def _by_weight(plans: Sequence[_ChildPlan], chance: random.Random) -> list[list[_ChildPlan]]:
    """The plans in three groups, in random order by their weights, so that a search sees all of them in time."""
    groups: list[list[_ChildPlan]] = [[], [], []]
    for plan in plans:
        groups[2 if not plan.is_preferred else plan.joint.host_to is not None].append(plan)
    waiting = [(group, weight) for group, weight in zip(groups, _WEIGHTS, strict=True) if group]
    ordered: list[list[_ChildPlan]] = []
    while waiting:
        number = chance.choices(range(len(waiting)), [weight for _, weight in waiting])[0]
        ordered.append(waiting.pop(number)[0])
    return ordered


def _parents(first: Analysis, second: Analysis) -> tuple[TypedGraph, TypedGraph]:
    graphs: list[TypedGraph] = []
    for name, analysis in (("first", first), ("second", second)):
        if analysis.typed is None:
            raise CrossoverRefusedError(f"The {name} file is not a workflow.")
        if why_unchangeable(analysis) is not None:
            raise CrossoverRefusedError(f"The {name} workflow {why_unchangeable(analysis)}.")
        if analysis.errors:
            raise CrossoverRefusedError(f"The {name} workflow has errors; put them right first.")
        for block in analysis.diagram.blocks:
            for statement in block.statements:
                if isinstance(statement, Comment) and "ignore-file" in statement.text.casefold():
                    raise CrossoverRefusedError(
                        f"The {name} workflow silences rules for the whole file, which can't be kept for a part of it."
                    )
        graphs.append(analysis.typed)
    return graphs[0], graphs[1]


def _text(analysis: Analysis) -> str:
    return "".join(block.text for block in analysis.diagram.blocks)


def _plans(parents: tuple[TypedGraph, TypedGraph]) -> Iterator[_ChildPlan]:
    """Every pair of cuts that matches: tails first, then parts between two cuts."""
    both_cuts = [sorted(cuts(graph), key=lambda cut: not cut.is_preferred) for graph in parents]
    pairs = [
        [
            (mine, theirs, match)
            for mine in both_cuts[host]
            for theirs in both_cuts[1 - host]
            if (match := matches(mine, theirs)) != "none"
        ]
        for host in (0, 1)
    ]
    for host in (0, 1):
        for mine, theirs, match in pairs[host]:
            if theirs.downstream and _same_outputs(mine.graph, theirs.graph):
                yield _ChildPlan(host, Joint(mine, theirs), match == "exact")
    few = [spread(both_cuts[parent], _MOST_PARTS) for parent in (0, 1)]
    # Looked up below for each pair of pairs, of which there are thousands.
    behind = {(upper, lower) for own in few for upper in own for lower in own if _between(upper, lower)}
    for host in (0, 1):
        mine_few, their_few = set(few[host]), set(few[1 - host])
        pairs[host] = [pair for pair in pairs[host] if pair[0] in mine_few and pair[1] in their_few]
    for host in (0, 1):
        # A part of the donor between two cuts feeds the host again, so there the donor is the upper one.
        back = [(mine, theirs, match) for theirs, mine, match in pairs[1 - host] if mine.value is not None]
        for mine, theirs, match in pairs[host]:
            for mine_to, theirs_to, again in back:
                if theirs_to is not theirs and (mine, mine_to) in behind and (theirs, theirs_to) in behind:
                    yield _ChildPlan(host, Joint(mine, theirs, mine_to, theirs_to), match == again == "exact")


def _between(upper: Cut, lower: Cut) -> bool:
    """Whether ``lower`` lies behind ``upper``, or is the same cut; a part that begins at an ensemble holds it."""
    if upper.value is None:
        return upper.gate is not None and upper.gate.id in lower.upstream
    return upper.upstream <= lower.upstream


def _same_outputs(first: TypedGraph, second: TypedGraph) -> bool:
    mine = {node.id: node.resolution.declared for node in first.outputs}
    return mine == {node.id: node.resolution.declared for node in second.outputs}


def _twin(plan: _ChildPlan, plans: Sequence[_ChildPlan]) -> _ChildPlan | None:
    """The plan with the same cuts and the parents' parts changed over."""
    joint = plan.joint
    wanted = (joint.donor_from, joint.host_from, joint.donor_to, joint.host_to)
    for other in plans:
        mine = other.joint
        if other.host != plan.host and wanted == (mine.host_from, mine.donor_from, mine.host_to, mine.donor_to):
            return other
    return None


def _child(plan: _ChildPlan, parents: tuple[Analysis, Analysis], names: Names = _NAMES) -> Child | None:
    """The child, or None where the two texts can't be put together."""
    try:
        text = join(parents[plan.host], parents[1 - plan.host], plan.joint)
    except (NamesError, CannotWriteError):
        return None
    host, donor = parents[plan.host].typed, parents[1 - plan.host].typed
    if host is None or donor is None:
        return None
    boxes, people = bool(host.composites or donor.composites), bool(acting(host) or acting(donor))
    if boxes or people or not plan.is_exact or _silences(parents):
        child = analyse(text, outside=host.core.language.outside)
        if not _fits(child, parents) or (boxes and _tears(plan.joint, child)):
            return None
        if people and (child.typed is None or _moves_effects(plan, host, donor, child.typed)):
            return None
    places = (_places(plan.joint.host_from, plan.joint.host_to), _places(plan.joint.donor_from, plan.joint.donor_to))
    return Child(
        move_id(CROSSOVER, text),
        _title(plan, names),
        plan.host,
        1 - plan.host,
        places if plan.host == 0 else (places[1], places[0]),
        text,
    )


def _moves_effects(plan: _ChildPlan, host: TypedGraph, donor: TypedGraph, child: TypedGraph) -> bool:
    """Whether something that asks people would go from one parent to the other, or not be asked as it is in the host."""
    # Where nothing is known of the files that it calls, a Call in it that asks people is known only by its parent.
    calls = any(node.id in plan.joint.taken for node in acting(donor))
    return calls or why_not_kept(host, child) is not None


def _silences(parents: tuple[Analysis, Analysis]) -> bool:
    """Whether a comment in a parent silences a rule; what it does in the child only a whole analysis tells."""
    return any(has_suppression(block) for parent in parents for block in parent.diagram.blocks)


def _fits(child: Analysis, parents: tuple[Analysis, Analysis]) -> bool:
    """Whether all types fit in a child, inferred again: nothing is wrong in it that isn't in a parent."""
    return _troubles(child) <= (_troubles(parents[0]) | _troubles(parents[1]))


def _tears(joint: Joint, child: Analysis) -> bool:
    """Whether the Loops and Maps of a child are others than those of its two parts."""
    mine, theirs = joint.host_from.graph, joint.donor_from.graph
    kept = frozenset(node.id for node in mine.nodes) - joint.removed
    wanted = _boxes(mine, kept) + _boxes(theirs, joint.taken)
    return child.typed is None or _boxes(child.typed, frozenset(child.typed.by_id)) != wanted


def _boxes(graph: TypedGraph, nodes: frozenset[str]) -> Counter[tuple[object, ...]]:
    """The Loops and Maps with nodes among some, as they are whatever their nodes are called: kind and place, values that name
    no node, operators inside, words on the edges.
    """
    words = [(edge, worded.word) for edge, worded in graph.core.words.items()]
    shapes: Counter[tuple[object, ...]] = Counter()
    for box in graph.composites:
        inside = graph.composites.members(box.id)
        if nodes.isdisjoint(inside):
            continue
        around = tuple(graph.composites.boxes[name].kind for name in graph.composites.chain(box.id))
        values = sorted(
            (key, str(parameter.value)) for key, parameter in box.parameters.items() if key not in ("until", "best")
        )
        operators = sorted(graph.by_id[name].operator or "" for name in inside)
        inner_words = sorted(word for edge, word in words if edge.source in inside or edge.target in inside)
        shapes[around, tuple(values), tuple(operators), tuple(inner_words)] += 1
    return shapes


def _troubles(analysis: Analysis) -> set[str]:
    return {diagnostic.code for diagnostic in analysis.diagnostics if diagnostic.severity is not Severity.HINT}


def _places(*given: Cut | None) -> tuple[CutPlace, ...]:
    places: list[CutPlace] = []
    for cut in dict.fromkeys(given):
        if cut is not None:
            values = dict.fromkeys(f"{edge.source.id}.{edge.output}" for edge in cut.crossing)
            into = dict.fromkeys(f"{edge.target.id}.{edge.port}" for edge in cut.crossing)
            places.append(CutPlace(cut.title, tuple(values), tuple(into), cut.type))
    return tuple(places)


def _title(plan: _ChildPlan, names: Names) -> str:
    joint = plan.joint
    host, donor = names[plan.host], names[1 - plan.host]
    if joint.host_to is None or joint.donor_to is None:
        return f"{host} up to its cut {joint.host_from.title}, then {donor} from its cut {joint.donor_from.title}"
    mine, theirs = _part(joint.host_from, joint.host_to), _part(joint.donor_from, joint.donor_to)
    return f"{host} with {donor}'s part {theirs} in place of its own {mine}"


def _part(first: Cut, last: Cut) -> str:
    end = last.value.id if last.value is not None else ""
    return f"{first.title}" if first is last else f"{first.title} up to {end}"
