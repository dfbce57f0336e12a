"""The conditions for a safe change: one named object for each precondition, so that each can be left out.

The names are those of ``docs/mutations.md``, which gives the reasons. All except ``kinds``, ``promises`` and ``order``
are checked on the resulting graph, whose types are inferred again; earlier problems are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from merrow_analysis.definitions.types import TypeTable
from merrow_analysis.edits.change import as_it_is
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.measures.kept_effects import acting, why_not_kept
from merrow_analysis.graph.measures.siblings import is_voice
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.graph.placing.arrived import is_odd_result
from merrow_analysis.graph.placing.placement import PortFeed
from merrow_analysis.rules.drawn.syntax_rules import MOST_EDGES
from merrow_analysis.rules.prompt_rules import template_problems
from merrow_analysis.rules.registry import Flags, find_rule, flags_of
from merrow_analysis.wiring.wires import OWN_KIND
from merrow_optimizer.mutations.base import MoveRefusal
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.operator_names import ADDITION, DELETION, SUBSTITUTION
from merrow_optimizer.mutations.original import Original


@dataclass(frozen=True, slots=True)
class Precondition:
    """``letter`` is its letter in the docs; ``check`` says in a sentence why it fails for a change, or None."""

    name: str
    letter: str
    summary: str
    check: Callable[[Mutation], str | None]


def _new(change: Mutation, flags: Flags, where: Callable[[str], bool] = lambda _: True) -> str | None:
    """The first new problem with a rule that has one of these flags, in words."""
    return _first(sorted((code, node) for code, node in change.new_troubles if flags_of(code) & flags and where(node)))


def _first(problems: Sequence[tuple[str, str]]) -> str | None:
    """The first of several problems, by code and node, in words."""
    if not problems:
        return None
    code, node = problems[0]
    rule = find_rule(code)
    summary = rule.summary if rule is not None else "Something would be wrong."
    return f"At {node or 'the workflow'} this would be wrong ({code}): {summary}"


def _types(change: Mutation) -> str | None:
    own = {node.id for node in change.added} | set(change.substituted)
    return _new(change, Flags.PORTS, lambda node: node not in own)


def _bridge(change: Mutation) -> str | None:
    reason = _new(change, Flags.PATHS)
    if reason is None and change.operator == DELETION:
        reason = _new(change, Flags.VOICES)
    return reason or _input_voter(change) or _emptied(change)


def _emptied(change: Mutation) -> str | None:
    """A subgraph that loses its last node would be drawn as a node itself."""
    gone = change.removed
    for subgraph in change.original.flow.subgraphs.values() if gone else ():
        if subgraph.nodes and gone.issuperset(subgraph.nodes):
            return f"Subgraph {subgraph.id} would be left empty; it is drawn as a node then."
    return None


def _input_voter(change: Mutation) -> str | None:
    """An input that becomes a voter in an ensemble beside the nodes that answer it."""
    voters = change.original.remembered(_input_voters)
    inputs = {node.id for node in change.after.inputs}
    for target in change.read_anew:
        for edge in change.incoming(target):
            source = edge.record.source
            if source in inputs and is_voice(edge) and (source, target) not in voters:
                return f"{source} is an input and no voice: {target} would vote over the question itself."
    return None


def _input_voters(original: Original) -> frozenset[tuple[str, str]]:
    """Inputs that feed the solutions of ensembles, each with the ensemble."""
    edges = [edge for node in original.typed.inputs for edge in node.outgoing]
    return frozenset((edge.source.id, edge.target.id) for edge in edges if is_voice(edge))


def _sides(change: Mutation) -> str | None:
    own = {node.id for node in change.added}
    return _new(change, Flags.PORTS, lambda node: node in own)


def _ports(change: Mutation) -> str | None:
    own = set(change.substituted)
    reason = _new(change, Flags.PORTS, lambda node: node in own)
    if reason is None and change.operator == SUBSTITUTION:
        reason = _new(change, Flags.VOICES, lambda node: node in own)
    return reason or _broken_template(change)


def _broken_template(change: Mutation) -> str | None:
    """A template that names a port which its node no longer has, or that leaves out a newly connected one."""
    book = change.original.analysis.prompts
    for node in change.differing:
        for problem in template_problems(node, book):
            if (node.id, problem) not in change.original.remembered(_template_problems):
                code, port = problem
                return f"At {node.id} this would be wrong ({code}): its template and its port `{port}` don't fit."
    return None


def _template_problems(original: Original) -> frozenset[tuple[str, tuple[str, str]]]:
    """Existing problems of templates, by node."""
    book = original.analysis.prompts
    return frozenset((node.id, problem) for node in original.typed.nodes for problem in template_problems(node, book))


def _capacity(change: Mutation) -> str | None:
    if change.has_too_many_edges:
        return f"The flowchart would have more than {MOST_EDGES} edges, which Mermaid does not draw."
    handled = Flags.PORTS | Flags.PATHS
    return _first(sorted((code, node) for code, node in change.new_troubles if not flags_of(code) & handled))


def _kinds(change: Mutation) -> str | None:
    """Ports for the task itself keep their source, or get another source of the same type."""
    ends = {(link.source, link.target) for link in change.new_links}
    targets = sorted({target for _, target in ends})
    by_id = change.original.typed.by_id
    before = {
        (target, feed.port): feed.type
        for target in targets
        if target in by_id
        for edge in by_id[target].incoming
        for feed in edge.feeds
        if feed.port in OWN_KIND
    }
    types = change.original.typed.types
    if change.operator == ADDITION:
        # The author may have connected a verdict to `solution`. An insertion there could not be undone, since a deletion
        # never connects one.
        for edge in [edge for target in targets if target in by_id for edge in by_id[target].incoming]:
            if edge.flow.index in change.edges and any(_is_odd_solution(edge, feed, types) for feed in edge.feeds):
                return (
                    f"`solution` of {edge.target.id} is for work to look at; what {edge.source.id} gives there is none."
                )
    for edge in [edge for target in targets for edge in change.incoming(target)]:
        if (edge.source.id, edge.target.id) not in ends:
            continue
        for feed in edge.feeds:
            if feed.port == "solution" and edge.source.kind == "input":
                return f"`solution` of {edge.target.id} is for work to look at; {edge.source.id} is an input."
            if feed.port == "solution" and feed.type is not None and is_odd_result(feed.type, types):
                return f"`solution` of {edge.target.id} is for work to look at; {edge.source.id} gives {feed.type}."
            wanted = OWN_KIND.get(feed.port)
            if wanted is None or feed.type is None or types.fits(feed.type, wanted):
                continue
            if before.get((edge.target.id, feed.port)) != feed.type:
                return (
                    f"`{feed.port}` of {edge.target.id} is for a source of type {wanted}; {edge.source.id} gives"
                    f" {feed.type}."
                )
    return None


def _is_odd_solution(edge: TypedEdge, feed: PortFeed, types: TypeTable) -> bool:
    odd = edge.source.kind == "input" or (feed.type is not None and is_odd_result(feed.type, types))
    return feed.port == "solution" and odd


def _promises(change: Mutation) -> str | None:
    for name in change.substituted:
        if change.original.typed.by_id[name].resolution.declared is not None:
            return f"{name} says what it `returns:`; that promise was made for the operator it has."
    for node in change.added:
        if any(key == "returns" for key, _ in node.parameters):
            return f"{node.id} would promise a type with `returns:`; only an author can."
    return None


def _order(change: Mutation) -> str | None:
    """The remaining edges into a node keep their order, and a replacement takes the position of its edge."""
    chart, later = change.original.flow.chart, change.after.flow.chart
    for name in dict.fromkeys(chart.edges[index].target for index in change.edges):
        if name in change.removed or name in change.substituted:
            continue
        before = [edge.source for edge in chart.incoming[name]]
        after = [edge.source for edge in later.incoming.get(name, ())]
        if len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) > _replaced(
            change, name
        ):
            return f"The inputs of {name} would come in another order, which changes its prompt."
    return None


def _replaced(change: Mutation, target: str) -> int:
    edges = change.original.flow.chart.edges
    return sum(
        1
        for index, put in change.edges.items()
        if edges[index].target == target
        and not any(link.source == edges[index].source and link.target == target for link in put)
    )


_ID = re.compile(r"[^\W\d]\w*")


def _boxes(change: Mutation) -> str | None:
    """The parts that define a Loop or a Map stay: the words on its edges, and the nodes that its parameters name."""
    typed = change.original.typed
    if not typed.composites:
        return None
    flow, words = typed.flow, typed.core.words
    for index, put in change.edges.items():
        edge = flow.edges[index]
        border_word = words.get(edge.record)
        if border_word is None or as_it_is(edge) in put:
            continue
        border = typed.composites.border(edge.source.id, edge.target.id)
        # Without the box these words have no meaning.
        if not change.unwrapped.intersection([border.scope] if border_word.word == AGAIN else border.entered):
            return f"The edge from {edge.source.id} to {edge.target.id} has the word `{border_word.word}` of its box; it stays."
    gone = {*change.removed, *change.substituted}
    for box in typed.composites if gone else ():
        for key in ("until", "best"):
            said_there = box.parameters.get(key)
            named = gone.intersection(_ID.findall(str(said_there.value))) if said_there is not None else ()
            if named:
                return f"`{key}` of {box.id} names {min(named)}."
    return None


TYPES = Precondition("types", "a", "Types are inferred again, and every consumer still fits.", _types)
BRIDGE = Precondition("bridge", "b", "What is removed is bridged by its through port, and nothing is cut off.", _bridge)
SIDES = Precondition("sides", "c", "A new node's required ports are fed from upstream.", _sides)
PORTS = Precondition("ports", "d", "A new operator's ports fit what reads and feeds them.", _ports)
CAPACITY = Precondition("capacity", "e", "Port capacities, liveness and the coverage of cases hold.", _capacity)
KINDS = Precondition(
    "kinds",
    "f",
    "`problem` and `entry_point` are fed by their own kind, `solution` by no input and no verdict.",
    _kinds,
)
PROMISES = Precondition("promises", "g", "No `returns:` is added or changed.", _promises)
ORDER = Precondition("order", "h", "A replaced edge keeps its place, for edge order is prompt order.", _order)
BOXES = Precondition(
    "boxes", "i", "The words on edges of a Loop or Map stay, and so do the nodes that its parameters name.", _boxes
)


def _effects(change: Mutation) -> str | None:
    """People are asked, and what is done outside is done, as before."""
    specs = [node.spec for node in (*change.added, *change.substituted.values())]
    if not change.original.remembered(_acts) and not any(spec.acts or spec.is_call for spec in specs):
        return None
    return why_not_kept(change.original.typed, change.after)


def _acts(original: Original) -> bool:
    return bool(acting(original.typed))


EFFECTS = Precondition(
    "effects",
    "k",
    "Nodes that ask people or use tools stay, run no more often, are given the same, and keep what lets them through.",
    _effects,
)
"""The one precondition that can't be left out."""

MEMORY = Precondition("memory", "j", "A step that gets another memory is shown other results by it.", lambda _: None)

ALL: tuple[Precondition, ...] = (TYPES, BRIDGE, SIDES, PORTS, CAPACITY, KINDS, PROMISES, ORDER, BOXES, MEMORY, EFFECTS)
"""All preconditions, in the order of their letters."""

NAMES: tuple[str, ...] = tuple(precondition.name for precondition in ALL)


def failing(change: Mutation, preconditions: Collection[Precondition] = ALL) -> MoveRefusal | None:
    """The first precondition that fails for a change; None where it is safe. `EFFECTS` is always among them."""
    for name, doubt in change.doubts:
        if any(precondition.name == name for precondition in preconditions):
            return MoveRefusal(name, doubt, change.title)
    for precondition in ALL:
        if precondition in preconditions or precondition is EFFECTS:
            reason = precondition.check(change)
            if reason is not None:
                return MoveRefusal(precondition.name, reason, change.title)
    return None
