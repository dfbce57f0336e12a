"""Applies a reviser's changes to a workflow's text: first one change of the graph, written by `merrow_analysis.edits`, then the
text on single nodes, and then names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, OperatorSpec
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, label_of
from merrow_analysis.edits.front_entries import add_entry, remove_entry, write_value
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.write import write
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.measures.kept_effects import acting, why_not_kept
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.places.occurrences import occurrences_of
from merrow_analysis.places.symbols import symbol
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import TextEdit, apply_edits
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_optimizer.revising.revision_answers import RevisionAnswer, RevisionChange
from merrow_optimizer.suggestions.links import links_in_place
from merrow_optimizer.suggestions.node_edits import prompt_text, with_prompt, with_value
from merrow_optimizer.suggestions.refusals import Unusable
from merrow_runtime.revising.reviser import CannotReviseError, RevisedWorkflow
from merrow_runtime.workflow import RecordingProvider, Workflow

_CUSTOM, _ASSEMBLE = "Custom", "Assemble"
_LONGEST_TOLD = 60
"""How many characters of an invalid id a message quotes."""
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
_PORT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    {"end", "graph", "flowchart", "subgraph", "class", "classdef", "click", "style", "linkstyle", "default"}
)


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """`merrow_runtime.revising.reviser.ProposedChanges` of an answer."""

    answer: RevisionAnswer
    candidates: tuple[Mapping[str, Any], ...] = ()
    """See `merrow_runtime.revising.reviser.ProposedChanges.candidates`."""

    @property
    def reason(self) -> str:
        """See `merrow_runtime.revising.reviser.ProposedChanges.reason`."""
        return self.answer.reason

    @property
    def is_empty(self) -> bool:
        """See `merrow_runtime.revising.reviser.ProposedChanges.is_empty`."""
        return not self.answer.changes and self.answer.plan is None

    def on(self, workflow: Workflow, most: int) -> RevisedWorkflow:
        """See `merrow_runtime.revising.reviser.ProposedChanges.on`."""
        answer = self.answer
        changes = answer.changes if answer.plan is None else tuple(as_changes(answer.plan, workflow))
        try:
            return _Making(workflow, most).made(changes)
        except Unusable as cannot:
            raise CannotReviseError(" ".join(cannot.sentences)) from None


def as_changes(plan: TaskGraph, workflow: Workflow) -> Iterable[RevisionChange]:
    """The changes that replace the Customs of a workflow by those of a plan."""
    graph = workflow.graph
    here = {node.id: node for node in graph.nodes if node.kind == "operator" and node.operator == _CUSTOM}
    wanted = {task.id: task for task in plan.tasks}
    for name in here:
        if name not in wanted:
            yield RevisionChange("remove", name)
    for task in plan.tasks:
        old = here.get(task.id)
        agent = task.agent if task.agent is not None and task.agent in workflow.analysis.settings.agents else None
        if old is None:
            yield RevisionChange("add", task.id, task.objective, agent, task.output_format or None, task.after)
            continue
        now = [edge.source.id for edge in old.incoming if edge.source.id in here]
        objective = (
            task.objective if task.objective.strip() != (prompt_text(workflow.analysis, old) or "").strip() else None
        )
        after = task.after if set(now) != set(task.after) else None
        if objective is not None or after is not None:
            yield RevisionChange("edit", task.id, objective, after=after)


def _shown(name: str) -> str:
    """An id from a model, shortened for a message."""
    return name if len(name) <= _LONGEST_TOLD else f"{name[:_LONGEST_TOLD]}…"


@dataclass
class _Making:
    """A workflow being changed. ``links`` are its edges after the change, ``added`` the new nodes."""

    workflow: Workflow
    most: int
    links: list[WantedEdge] = field(default_factory=list)
    added: dict[str, RevisionChange] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    said: list[RevisionChange] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    redone: list[str] = field(default_factory=list)
    bypassed: list[str] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    """The ids of new nodes that put results together."""

    @cached_property
    def graph(self) -> TypedGraph:
        """The graph so far."""
        return self.workflow.graph

    @cached_property
    def locked(self) -> set[str]:
        """The ids of locked nodes."""
        return {
            node.id
            for node in self.graph.nodes
            if (parameter := node.resolution.parameters.get("locked")) is not None and parameter.value is True
        }

    def made(self, changes: Iterable[RevisionChange]) -> RevisedWorkflow:
        """The workflow after the changes. Raises `CannotReviseError`, `Unusable`."""
        self.links = [
            WantedEdge(edge.source.id, edge.target.id, label_of(edge))
            for edge in self.graph.flow.edges
            if not edge.record.carries_nothing
        ]
        before = list(self.links)
        for change in changes:
            getattr(self, f"_{change.do}")(self._by_first_ids(change) if self.names else change)
        self._join_ends()
        count = (
            sum(node.kind in ("operator", "decision") for node in self.graph.nodes) + len(self.added) - len(self.gone)
        )
        if count > self.most:
            raise CannotReviseError(f"The workflow would have {count} nodes; {self.most} are allowed.")
        if not count:
            raise CannotReviseError("No node would be left that does anything: keep one, or add one.")
        for name in self.locked:
            own = [link for link in before if link.target == name]
            if name in self.gone or [link for link in self.links if link.target == name] != own:
                raise CannotReviseError(f"{name} is locked: it stays as it is, with all that it is given.")
        for name in self._decisions:
            if self._cases_of(name, self.links) != self._cases_of(name, before):
                raise CannotReviseError(
                    f"{name} is a Decision: its cases stay as they are, and something must follow each."
                )
        text = self._structure(before)
        for name in self.gone:
            text = self._forgotten(text, name)
        for change in self.said:
            text = self._values(text, change)
        acting_nodes = {node.id for node in acting(self.graph)}
        for name in [redone for redone in self.redone if redone not in self.gone]:
            if name in acting_nodes:
                raise CannotReviseError(f"{name} can't be made again: only a person has another person asked twice.")
            text = self._again(text, name)
        renamed = {new: old for new, old in self.names.items() if old not in self.gone}
        for new, old in renamed.items():
            text = self._called(text, old, new)
        after = self._read(text).typed
        not_kept = None if after is None else why_not_kept(self.graph, after, renamed)
        if not_kept is not None:
            raise CannotReviseError(not_kept)
        return RevisedWorkflow(text, renamed, tuple(name for name in self.bypassed if name in self.gone))

    # Reading changes

    def _by_first_ids(self, change: RevisionChange) -> RevisionChange:
        """A change in which nodes renamed by an earlier change have their current ids."""

        def first(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return None if names is None else tuple(self.names.get(name, name) for name in names)

        return replace(
            change,
            id=self.names.get(change.id, change.id),
            after=first(change.after),
            before=first(change.before) or (),
            into=tuple(replace(part, after=first(part.after)) for part in change.into),
            to=change.to if change.do == "rename" else self.names.get(change.to, change.to),
            source=self.names.get(change.source, change.source),
        )

    def _lost(self, name: str) -> CannotReviseError:
        """The failure for an unknown name."""
        if name in self.gone:
            return CannotReviseError(f"{name} is removed by an earlier change.")
        near = closest(
            name, (candidate for candidate in (*self.graph.by_id, *self.added) if candidate not in self.gone)
        )
        return CannotReviseError(f"There is no node {_shown(name)}." + (f" Did you mean {near}?" if near else ""))

    def _node(self, name: str) -> TypedNode | None:
        """A node that may be changed; None for a node that these changes add. Raises `CannotReviseError`."""
        if name in self.added:
            return None
        node = self.graph.by_id.get(name)
        if node is None or name in self.gone:
            raise self._lost(name)
        if node.kind in ("input", "output"):
            raise CannotReviseError(f"{name} is an {node.kind} of the workflow: inputs and outputs never change.")
        if name in self.locked:
            raise CannotReviseError(f"{name} is locked: it stays as it is.")
        if node.kind == "decision":
            raise CannotReviseError(f"{name} is a Decision: a revision can't change it.")
        return node

    def _known(self, name: str) -> str:
        if name not in self.added and (name not in self.graph.by_id or name in self.gone):
            raise self._lost(name)
        return name

    def _new_id(self, name: str) -> None:
        if not _ID.fullmatch(name) or name.casefold() in _RESERVED:
            raise CannotReviseError(
                f"{_shown(name)} can't be the id of a node: use letters, digits and _, with a letter first."
            )
        if len(self.added) >= self.most:
            raise CannotReviseError(f"The workflow would have more than {self.most} nodes; {self.most} are allowed.")
        taken = {existing.casefold() for existing in (*self.graph.by_id, *self.graph.flow.subgraphs, *self.added)}
        if name.casefold() in taken:
            raise CannotReviseError(f"There is a {name} already, or was one; choose another id.")

    def _agent(self, name: str | None) -> None:
        if name is not None and name.casefold() not in self.workflow.analysis.settings.agents:
            known = (
                ", ".join(agent.name for agent in self.workflow.analysis.settings.agents.values()) or "there are none"
            )
            raise CannotReviseError(f"There is no agent {_shown(name)}; the agents are: {known}.")

    def _add(self, change: RevisionChange) -> None:
        self._new_id(change.id)
        self._agent(change.agent)
        after = [self._known(earlier) for earlier in change.after or ()]
        readers = [self._known(later) for later in change.before]
        self.added[change.id] = change
        self.beside[change.id] = self._place_of([*after[::-1], *readers])
        self.links += [self._edge(source, change.id) for source in after or [node.id for node in self.graph.inputs][:1]]
        self.links += [self._edge(change.id, reader) for reader in readers]

    def _place_of(self, near: list[str]) -> str:
        """The node that a new one is written beside."""
        inner = [
            neighbour
            for neighbour in near
            if neighbour in self.added or self.graph.by_id[neighbour].kind not in ("input", "output")
        ]
        others = [node.id for node in self.graph.nodes if node.id not in self.gone and node.kind == "operator"]
        candidates = [neighbour for neighbour in (*inner, *others, *near) if neighbour not in self.gone]
        if not candidates:
            raise CannotReviseError("Nothing would be left of the workflow.")
        return candidates[0]

    def _edge(self, source: str, target: str) -> WantedEdge:
        """An edge with the same label as other edges into its target."""
        node = self.graph.by_id.get(target)
        giver = self.graph.by_id.get(source)
        if (giver is not None and giver.kind == "decision") or target in self.joins:
            return WantedEdge(source, target)
        if node is None or node.operator == _CUSTOM:
            return WantedEdge(source, target, "input")
        labels = [
            link.label
            for link in self.links
            if link.target == target
            and link.label is not None
            and _PORT.fullmatch(link.label)
            and link.source not in self._asked_of
        ]
        return WantedEdge(source, target, labels[0] if labels else None)

    def _led(self, link: WantedEdge, target: str, word: str | None = None) -> WantedEdge:
        """An edge that replaces another one from the same node: out of a Decision it has the same case, in a Loop or Map the same
        word, or the given one.
        """
        if link.source in self._decisions:
            return WantedEdge(link.source, target, self._cases.get(link, link.label))
        word = word or self._words.get(link)
        return self._edge(link.source, target) if word is None else WantedEdge(link.source, target, word)

    @cached_property
    def _words(self) -> dict[WantedEdge, str]:
        """The words of Loops and Maps on edges."""
        graph = self.graph
        edges = [edge for node in graph.nodes for edge in (*node.incoming, *node.again_in)] if graph.composites else []
        return {
            WantedEdge(edge.record.source, edge.record.target, label_of(edge.record)): edge.word
            for edge in edges
            if edge.word is not None
        }

    def _beside_in_loops(self, name: str) -> set[str]:
        """The nodes of the innermost Loop or Map that a node is in."""
        boxes = self.graph.composites.around(name)
        return set(self.graph.composites.members(boxes[0])) if boxes else set()

    @cached_property
    def _decisions(self) -> set[str]:
        return {node.id for node in self.graph.nodes if node.kind == "decision"}

    @cached_property
    def _cases(self) -> dict[WantedEdge, str | None]:
        """The case in the labels of edges out of Decisions, without the ports that they lead to."""
        return {
            WantedEdge(name, edge.target.id, label_of(edge.record)): edge.case_label
            for name in self._decisions
            for edge in self.graph.by_id[name].outgoing
        }

    def _cases_of(self, name: str, links: list[WantedEdge]) -> set[str | None]:
        return {self._cases.get(link, link.label) for link in links if link.source == name}

    @cached_property
    def _asked_of(self) -> set[str]:
        """Inputs and Decisions, whose edges have different labels from others."""
        return {node.id for node in self.graph.nodes if node.kind in ("input", "decision")}

    def _edit(self, change: RevisionChange) -> None:
        node = self._node(change.id)
        self._agent(change.agent)
        if node is None:
            own = self.added[change.id]
            self.added[change.id] = replace(
                own,
                objective=change.objective or own.objective,
                agent=change.agent or own.agent,
                format=change.format or own.format,
            )
        else:
            self.said.append(change)
        if change.after is not None:
            after = [self._known(source) for source in change.after]
            inputs = {port.id for port in self.graph.inputs}
            kept = [
                link
                for link in self.links
                if link.target == change.id
                and (link.source in inputs or link.source in after or self._words.get(link) == AGAIN)
            ]
            self.links = [link for link in self.links if link.target != change.id] + kept
            have = {link.source for link in kept}
            self.links += [self._edge(source, change.id) for source in after if source not in have]

    def _remove(self, change: RevisionChange) -> None:
        self._node(change.id)
        sources = [before for before in self.links if before.target == change.id]
        back = [before for before in sources if self._words.get(before) == AGAIN]
        inner = [
            before
            for before in sources
            if before.source not in {node.id for node in self.graph.inputs} and before not in back
        ]
        put: list[WantedEdge] = []
        for link in self.links:
            if link.source == change.id:
                there = [self._led(other, link.target) for other in self.links if other.target == link.target]
                word = self._words.get(link)
                bridge = inner or ([] if self._has_more(link) else sources)
                led = [self._led(bridged, link.target, word) for bridged in bridge if bridged not in back]
                if link.target in self._beside_in_loops(change.id):
                    led += [self._led(other, link.target) for other in back]
                put += [
                    made for made in led if made not in there and (made.source != made.target or made.label == AGAIN)
                ]
            elif link.target != change.id:
                put.append(link)
        self.links = put
        if self.added.pop(change.id, None) is None:
            self.gone.add(change.id)

    def _has_more(self, link: WantedEdge) -> bool:
        """Whether the target of an edge gets something else in the same way, so that it can do without the source."""
        return any(
            other.source != link.source and other.target == link.target and other.label == link.label
            for other in self.links
        )

    def _bypass(self, change: RevisionChange) -> None:
        self._remove(change)
        self.bypassed.append(change.id)

    def _split(self, change: RevisionChange) -> None:
        self._node(change.id)
        sources = [link for link in self.links if link.target == change.id]
        readers = [link for link in self.links if link.source == change.id]
        place = self._place_of([change.id])
        for part in change.into:
            self._new_id(part.id)
            self._agent(part.agent)
            self.added[part.id] = part
            self.beside[part.id] = place
        needed = {other for part in change.into for other in part.after or ()}
        ends = [part.id for part in change.into if part.id not in needed]
        outputs = [link for link in readers if link.target in {node.id for node in self.graph.outputs}]
        if len(ends) > 1 and outputs:  # which take one value
            join = self._join(place)
            self.links += [
                self._led(link._replace(source=join), link.target, self._words.get(link)) for link in outputs
            ]
            self.links += [self._edge(end, join) for end in ends]
            readers = [link for link in readers if link not in outputs]
        for part in change.into:
            after = [self._edge(self._known(other), part.id) for other in part.after or ()]
            self.links += after or [self._led(link, part.id) for link in sources]
            if part.id not in needed:
                self.links += [
                    self._led(link._replace(source=part.id), link.target, self._words.get(link)) for link in readers
                ]
        self.links = [link for link in self.links if change.id not in (link.source, link.target)]
        if self.added.pop(change.id, None) is None:
            self.gone.add(change.id)
            for name, near in self.beside.items():
                if near == change.id:
                    self.beside[name] = self._place_of(
                        [
                            other
                            for other in (*(link.source for link in sources), *(link.target for link in readers))
                            if other not in self.gone
                        ]
                    )

    def _redo(self, change: RevisionChange) -> None:
        if self._node(change.id) is None:
            raise CannotReviseError(f"{change.id} is new; it need not be made again.")
        self.redone.append(change.id)

    def _reassign(self, change: RevisionChange) -> None:
        self._edit(replace(change, do="edit"))

    def _rename(self, change: RevisionChange) -> None:
        if self._node(change.id) is None:
            raise CannotReviseError(f"{change.id} is new; add it with the other id.")
        self._new_id(change.to)
        if change.to in self.names:
            raise CannotReviseError(f"Two nodes can't both be renamed to {change.to}.")
        self.names = {new: old for new, old in self.names.items() if old != change.id} | {change.to: change.id}

    def _linked(self, change: RevisionChange) -> tuple[str, str]:
        source, target = self._known(change.source), self._known(change.to)
        if target in self.locked:
            raise CannotReviseError(f"{target} is locked: it stays as it is, with all that it is given.")
        return source, target

    def _link(self, change: RevisionChange) -> None:
        source, target = self._linked(change)
        if not any((link.source, link.target) == (source, target) for link in self.links):
            self.links.append(self._edge(source, target))

    def _unlink(self, change: RevisionChange) -> None:
        source, target = self._linked(change)
        left = [link for link in self.links if (link.source, link.target) != (source, target)]
        if len(left) == len(self.links):
            raise CannotReviseError(f"No edge leads from {source} to {target}.")
        self.links = left

    def _join_ends(self) -> None:
        """Connect new nodes that nothing reads to the node that combines the rest; where there is none, to a new one before the
        only output, if one node alone leads to that.
        """
        loose = [name for name in self.added if not any(link.source == name for link in self.links)]
        if not loose:
            return
        joins = [node.id for node in self.graph.nodes if node.operator == _ASSEMBLE and node.id not in self.gone]
        joins += self.joins
        last = [link for link in self.links if link.target in {node.id for node in self.graph.outputs}]
        if not joins and len(last) == len(self.graph.outputs) == 1 and last[0].source not in self._decisions:
            (before,) = last
            joins = [self._join(before.source)]
            self.links.remove(before)
            self.links += [self._edge(before.source, joins[0]), before._replace(source=joins[0])]
        if joins:
            self.links += [self._edge(name, joins[-1]) for name in loose]

    def _join(self, beside: str) -> str:
        """The id of a new node that puts results together for what is asked, with the edge that tells it that."""
        taken = {one.casefold() for one in (*self.graph.by_id, *self.graph.flow.subgraphs, *self.added)}
        names = (f"ASSEMBLE{number}" for number in ("", *range(2, len(taken) + 3)))
        name = next(one for one in names if one.casefold() not in taken)
        self.joins.append(name)
        self.added[name] = RevisionChange("add", name)
        self.beside[name] = self._place_of([beside])
        self.links += [WantedEdge(node.id, name, "problem") for node in self.graph.inputs[:1]]
        return name

    # Writing

    def _read(self, text: str) -> Analysis:
        known = RecordingProvider(None)
        known.files = {path: dict(texts) for path, texts in self.workflow.files.items()}
        return analyse(text, path=self.workflow.path, provider=known, config=self.workflow.config, as_workflow=True)

    def _structure(self, before: list[WantedEdge]) -> str:
        workflow, graph = self.workflow, self.graph
        if not self.added and not self.gone and self.links == before:
            return workflow.text
        custom, assemble = (
            graph.operators.named(name) or BUILT_IN_TABLE.specs[name.casefold()] for name in (_CUSTOM, _ASSEMBLE)
        )
        new = [
            NewNode(change.id, assemble, self.beside[change.id])
            if change.id in self.joins
            else self._written(change, custom)
            for change in self.added.values()
        ]
        change = GraphChange(
            added=tuple(new),
            removed=frozenset(self.gone),
            edges=links_in_place(graph.flow, self.links, self.gone),
        )
        try:
            workflow_text = WorkflowText(workflow.analysis.diagram, graph)
            return edits_both_ways(workflow_text.places, write(workflow_text, change))[0]
        except ValueError as problem:
            sentence = str(problem) if isinstance(problem, CannotWriteError) else "The changes lie inside each other."
            raise CannotReviseError(f"The change can't be written into the file. {sentence}") from None

    def _written(self, change: RevisionChange, custom: OperatorSpec) -> NewNode:
        parameters = tuple(
            (key, value) for key, value in (("agent", change.agent), ("format", change.format)) if value is not None
        )
        book, prompt = self.workflow.analysis, (change.objective or "").strip("\n")
        beside = self.beside[change.id]
        if not book.settings.prompts:
            return NewNode(change.id, custom, beside, None, prompt, parameters)
        wanted, number = change.id.lower(), 1
        taken = {name.casefold() for name in book.settings.prompts} | {
            node.prompt_name or "" for node in self._names_given
        }
        free = wanted
        while book.prompts.find(free) is not None or free.casefold() in taken:
            number += 1
            free = f"{wanted}_{number}"
        new = NewNode(change.id, custom, beside, free, prompt, parameters, prompt_name=free)
        self._names_given.append(new)
        return new

    @cached_property
    def _names_given(self) -> list[NewNode]:
        return []

    def _values(self, text: str, change: RevisionChange) -> str:
        if change.id in self.gone:
            return text
        if change.objective is not None:
            text = with_prompt(text, self._read(text), change.id, change.objective.strip("\n"))
        for key, value in (("agent", change.agent), ("format", change.format)):
            if value is not None:
                text = with_value(text, self._read(text), change.id, key, value)
        return text

    def _again(self, text: str, name: str) -> str:
        """The text with a node requested to run again."""
        analysis = self._read(text)
        front, count = analysis.diagram.front_matter, analysis.settings.redo.get(name, 0)
        known = name in analysis.settings.redo and front is not None
        edit = (
            write_value(front, ("workflow", "redo", name), count + 1)
            if known and front is not None
            else add_entry(front, "redo", name, count + 1)
        )
        if edit is None:
            raise CannotReviseError(f"`redo: {{{name}: {count + 1}}}` can't be written into the front matter.")
        return apply_edits(text, [edit])

    def _forgotten(self, text: str, name: str) -> str:
        """The text without requests to run removed nodes again."""
        for key in [visit for visit in self.workflow.analysis.settings.redo if visit.rpartition("/")[2] == name]:
            front = parse_diagram(text).front_matter
            edit = None if front is None else remove_entry(front, ("workflow", "redo", key))
            if edit is None:
                raise CannotReviseError(f"`redo: {{{key}: ...}}` can't be cut out of the front matter.")
            text = apply_edits(text, [edit])
        return text

    def _called(self, text: str, old: str, new: str) -> str:
        places = [occurrence.range for occurrence in occurrences_of(self._read(text), symbol("node", old))]
        return apply_edits(text, [TextEdit(place, new) for place in dict.fromkeys(places)])
