"""What a revision keeps of a workflow, said beforehand.

A node keeps its result where it is defined as before and asked for as often, and where each of its ports gets the same of
nodes that are kept, in the same order. That is less than what a run takes over: there an input counts by its value.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_analysis.graph.boxes.composites import loop_settings, map_settings
from merrow_analysis.graph.measures.kept_effects import acting
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Steps, make_steps, meaning_without_step
from merrow_runtime.program.titles import title_of
from merrow_runtime.revising.redo import Redo
from merrow_runtime.workflow import Workflow


@dataclass(frozen=True, slots=True)
class RevisionDifference:
    """What becomes of the nodes that ask, compute or decide something.

    ``kept`` and ``reset`` are finished nodes, by their ids in the new graph: those whose results hold, and those that are
    made again (unless what they are given comes out as it was). ``added`` are only in the new graph, ``removed`` only in
    the old one,
    ``changed`` in both with another definition, and ``renamed`` has the old id by the new one. ``redone`` are asked for again by
    `redo`. ``refused`` says in sentences why the new graph can't take the old one's place; then all else is empty.
    """

    kept: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    redone: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As `merrow diff` prints it, and events have it."""
        return {
            "kept": list(self.kept),
            "reset": list(self.reset),
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": list(self.changed),
            "renamed": dict(self.renamed),
            "redone": list(self.redone),
            "refused": list(self.refused),
        }

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> RevisionDifference:
        """The inverse of `to_json`."""
        names = ("kept", "reset", "added", "removed", "changed", "redone", "refused")
        return cls(**{name: tuple(shown.get(name, ())) for name in names}, renamed=dict(shown.get("renamed", {})))

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs that a run would notice."""
        return not (
            self.reset or self.added or self.removed or self.changed or self.renamed or self.redone or self.refused
        )


def difference(
    old: Workflow,
    new: Workflow,
    finished: Collection[str] | None = None,
    renamed: Mapping[str, str] | None = None,
    options: RunOptions | None = None,
) -> RevisionDifference:
    """What a run of ``old`` keeps that goes on as ``new``, where the nodes ``finished`` are (None: all of them).

    ``renamed`` has the old ids of nodes that were renamed on purpose, by the new ones. Raises `UsageFailure` where a parameter
    can't be used.
    """
    refused = tuple(boundary_problems(old.graph, new.graph))
    if refused:
        return RevisionDifference(refused=refused)
    options = RunOptions() if options is None else options
    before, after = _Side(old, make_steps(old, options)), _Side(new, make_steps(new, options))
    origin = _origins(before, after, renamed or {})
    done = set(before.working) if finished is None else {name for name in finished if name in before.nodes}
    ids = [name for name in after.working if name in before.nodes]
    moved = {
        name: was
        for name, was in origin.items()
        if was != name and name in after.working and name not in before.working
    }
    gone = [name for name in before.working if name not in after.nodes and name not in moved.values()]
    held = {name: was for name, was in origin.items() if was in done or name not in after.working}
    if len(held) < len(origin):
        _leave_out_lost(before, after, held)
    kept = [name for name in after.working if name in held]
    return RevisionDifference(
        tuple(kept),
        tuple(name for name in ids if name in done and name not in kept),
        tuple(name for name in after.working if name not in before.nodes and name not in moved),
        tuple(gone),
        tuple(name for name in ids if before.definitions[name] != after.definitions[name] and name not in kept),
        {name: was for name, was in origin.items() if was != name and name in after.working},
        tuple(name for name in ids if before.redo.of_any(name) != after.redo.of_any(name)),
    )


def why_asked_again(
    old: Workflow, new: Workflow, begun: Collection[str], renamed: Mapping[str, str], options: RunOptions
) -> str | None:
    """Why a run of ``old``, in which the nodes ``begun`` have run or are at work, can't go on as ``new`` unless a person says so:
    a node with an effect, which has had it, would be given something else by what was done before it. A sentence, None where
    nothing is done again. ``renamed`` has old ids by new ones. Raises `UsageFailure` where a parameter can't be used.
    """
    acted = [node.id for node in acting(old.graph) if node.id in begun]
    if not acted:
        return None
    before, after = _Side(old, make_steps(old, options)), _Side(new, make_steps(new, options))
    now_called = {was: now for now, was in renamed.items()}
    for name in acted:
        seen, waiting = {name}, [name]
        while waiting:
            was = waiting.pop()
            if not _is_as_it_was(before, after, was, now_called):
                return (
                    f"{name} has run, or is at work, and would be asked again, since {was} would change before it:"
                    " only a person has another person asked twice."
                )
            sources = {source for _, source in before.sources(was)} - seen
            ran = [source for source in sources if source in begun or before.nodes[source].kind == "decision"]
            seen.update(ran)
            waiting += ran
    return None


def _is_as_it_was(before: _Side, after: _Side, was: str, now_called: Mapping[str, str]) -> bool:
    """Whether a node is defined as before, in the same Loops and Maps, and gets the same of the same nodes."""
    now = now_called.get(was, was)
    if after.definitions.get(now) != before.definitions[was] or before.around(was) != after.around(now):
        return False
    if before.redo.of_any(was) != _as_named(after.redo, now, was):
        return False
    here = {
        port: Counter((now_called.get(source, source), how) for source, how in given)
        for port, given in before.given(was).items()
    }
    return here == {port: Counter(given) for port, given in after.given(now).items()}


def is_task(node: TypedNode) -> bool:
    """Whether a node does a part of the task: an operator that does more than combine results."""
    return node.kind == "operator" and node.operator != "Assemble"


def changed_tasks(
    first: Workflow, now: Workflow, names: Mapping[str, str], options: RunOptions | None = None
) -> tuple[str, ...]:
    """The ids of the tasks of the workflow that a run began with which are gone from it by now, are defined differently, or get
    their inputs from other nodes. ``names`` has the ids in ``first`` of nodes that have another one now. Raises `UsageFailure`
    where a parameter can't be used.
    """
    options = RunOptions() if options is None else options
    before, after = _Side(first, make_steps(first, options)), _Side(now, make_steps(now, options))
    held = {names.get(name, name): name for name in after.nodes}

    def is_changed(name: str) -> bool:
        new = held.get(name)
        if new is None or after.definitions[new] != before.definitions[name]:
            return True
        givers = {names.get(source, source) for _, source in after.sources(new)}
        return givers != {source for _, source in before.sources(name)}

    return tuple(name for name, node in before.nodes.items() if is_task(node) and is_changed(name))


def boundary_problems(old: TypedGraph, new: TypedGraph) -> Iterator[str]:
    """Why a graph can't take the place of another one, for inputs and outputs never change: sentences."""
    for what, before, after in (("input", old.inputs, new.inputs), ("output", old.outputs, new.outputs)):
        here, there = {node.id: _type(node) for node in before}, {node.id: _type(node) for node in after}
        for name, type_ in here.items():
            if name not in there:
                yield f"The {what} {name} is gone: inputs and outputs of a run never change; put it back."
            elif there[name] != type_:
                now, was = there[name] or "of any type", type_ or "of any type"
                yield f"The {what} {name} is {now} now and was {was}: inputs and outputs of a run never change."
        for name in (port for port in there if port not in here):
            yield f"The {what} {name} is new: inputs and outputs of a run never change; leave it out."


def _type(node: TypedNode) -> str | None:
    if node.kind == "input":
        return next(iter(node.own_outputs.values()), None)
    return node.resolution.declared


_Given = tuple[str, tuple[Hashable, ...]]
_WITHIN = (None, False, None, (), ())
"""What an edge has to do with composites where there are none."""


class _Side:
    """A workflow as it is compared: ``working`` are the ids of the nodes that ask, compute or decide something, in order."""

    def __init__(self, workflow: Workflow, steps: Steps) -> None:
        graph = self.graph = workflow.graph
        self._given: dict[str, Mapping[str, Sequence[_Given]]] = {}
        self.redo = Redo(workflow.analysis.settings.redo)
        self.nodes = {node.id: node for node in (graph.node(handle) for handle in graph.order)}
        self.titles = {name: title_of(node) for name, node in self.nodes.items()}
        self.working = [name for name, node in self.nodes.items() if node.kind in ("operator", "decision")]
        self.definitions = {name: _definition(node, steps) for name, node in self.nodes.items()}
        self.boxes = {
            box.id: (box.kind, loop_settings(box) if box.kind == "loop" else map_settings(box), box.parent)
            for box in graph.composites
        }
        self.remembers = {
            name for name, node in self.nodes.items() if node.index in steps and steps[node.index].memory.kind != "none"
        }

    def around(self, name: str) -> tuple[Hashable, ...]:
        """The composites that a node is in, as they are set."""
        return tuple((box, *self.boxes[box]) for box in self.graph.composites.around(name))

    @property
    def is_plain(self) -> bool:
        """Whether nothing stands on anything but what its edges bring."""
        return not self.boxes and not self.remembers

    def sources(self, name: str) -> Iterator[tuple[TypedEdge, str]]:
        """The edges that bring something to a node, each with the id of the node that gives it."""
        node = self.nodes[name]
        edges = (*node.incoming, *node.again_in) if self.boxes else node.incoming
        return ((edge, edge.record.source) for edge in edges)

    def given(self, name: str) -> Mapping[str, Sequence[_Given]]:
        """What comes to each port of a node, in order: who gives it, what of it, and how; under no port what only orders."""
        known = self._given.get(name)
        if known is not None:
            return known
        ports: dict[str, list[_Given]] = {}
        again = set(self.nodes[name].again_in) if self.boxes else ()
        for edge, source in self.sources(name):
            node = self.nodes[source]
            number = None if node.cases is None else node.case_of(edge)
            case = None if node.cases is None or number is None else node.cases.keys[number]
            across = (edge.word, edge in again, edge.lowered, edge.left, edge.entered) if self.boxes else _WITHIN
            how = (self.titles[source], case, *across)
            feeds = edge.feeds
            for feed in feeds:
                ports.setdefault(feed.port, []).append((source, (feed.output, feed.type, *how)))
            if not feeds:
                ports.setdefault("", []).append((source, how))
        self._given[name] = ports
        return ports

    def stands_on(self, name: str) -> set[str]:
        """The ids of all nodes that must be kept beside those that bring something: what is remembered, and what decides
        which turn or which items a value is of.
        """
        needed: set[str] = set()
        for edge, _ in self.sources(name) if self.boxes else ():
            for box in edge.left:
                needed.update(self.graph.composites.members(box))
        if name in self.remembers:
            waiting = [name]
            while waiting:
                for _, source in self.sources(waiting.pop()):
                    if source not in needed:
                        needed.add(source)
                        waiting.append(source)
        return needed - {name}


def _definition(node: TypedNode, steps: Steps) -> Hashable:
    step = steps.get(node.index)
    if step is not None:
        return "step", step.digest, step.memory, step.on_error
    return meaning_without_step(node) if node.kind == "decision" else node.kind


def _origins(before: _Side, after: _Side, renamed: Mapping[str, str]) -> dict[str, str]:
    """The old id of each node of the new graph that does what that one did with what came to it."""
    origin: dict[str, str] = {}
    free: defaultdict[Hashable, list[str]] = defaultdict(list)
    for name in before.working:
        if after.definitions.get(name) != before.definitions[name]:
            free[before.definitions[name]].append(name)
    taken: set[str] = set()
    # Sources come first, but for what comes again in a Loop.
    at_once = not before.boxes and not after.boxes
    for name in after.nodes:
        own = [name] if before.definitions.get(name) == after.definitions[name] else []
        others = free.get(after.definitions[name], [])
        wanted = renamed.get(name)
        for was in (*own, *([wanted] if wanted in others else []), *others):
            if was not in taken and _alike(before, after, was, name, origin, final=at_once):
                origin[name] = was
                taken.add(was)
                break
    if not at_once:
        _leave_out_lost(before, after, origin)
    return origin


def _leave_out_lost(before: _Side, after: _Side, origin: dict[str, str]) -> None:
    """Leave out the nodes that get something else than they got, and what follows from them."""
    lost = True
    while lost:
        lost = False
        # In the order of the graph: what is lost because of an earlier node is found in the same pass, but for what comes again.
        for name in [node_id for node_id in after.nodes if node_id in origin]:
            if not _alike(before, after, origin[name], name, origin, final=True):
                del origin[name]
                lost = bool(after.boxes)


def _alike(before: _Side, after: _Side, was: str, name: str, origin: Mapping[str, str], *, final: bool) -> bool:
    """Whether a node of the new graph gets what one of the old graph got. Until all are known (``final``) what comes from
    nodes that are not reached yet is taken to be the same.
    """
    if after.nodes[name].kind in ("input", "output") and name != was:
        return False
    if (before.boxes or after.boxes) and before.around(was) != after.around(name):
        return False
    if (before.redo or after.redo) and before.redo.of_any(was) != _as_named(after.redo, name, was):
        return False
    if final and not (before.is_plain and after.is_plain):
        needed = after.stands_on(name)
        if {origin.get(other) for other in needed} != before.stands_on(was):
            return False
    here, there = before.given(was), after.given(name)
    if here.keys() != there.keys():
        return False
    return all(_same(here[port], there[port], origin, final=final, in_order=bool(port)) for port in here)


def _same(
    here: Sequence[_Given], there: Sequence[_Given], origin: Mapping[str, str], *, final: bool, in_order: bool
) -> bool:
    """Whether a port gets the same, in the same order where that counts."""
    if len(here) != len(there):
        return False
    if not in_order:
        return not final or Counter((origin.get(source), how) for source, how in there) == Counter(here)
    for (was, before), (source, after) in zip(here, there, strict=True):
        known = origin.get(source)
        if before != after or (known != was and (final or known is not None)):
            return False
    return True


def _as_named(redo: Redo, name: str, was: str) -> tuple[tuple[str, int], ...]:
    return tuple((f"{named.removesuffix(name)}{was}", count) for named, count in redo.of_any(name))
