"""A whole workflow that a model wrote, as a minimal difference to the workflow that there is: what it wrote is only read. Nodes
are matched, and what differs is written by `merrow_analysis.edits` in the file's own habits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.settings import NO_SETTINGS, read_settings
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, label_of
from merrow_analysis.edits.front_matter import exchange_prompts
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.write import write
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.rules.fixes.declaring import DECLARES_AN_OPERATOR
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import split_lines
from merrow_optimizer.mutations.base import GraphEdge, GraphNode, terms_of
from merrow_optimizer.mutations.original import why_unchangeable
from merrow_optimizer.repair.search import repair
from merrow_optimizer.suggestions.allowed import front_matter, may_be_new
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.links import links_in_place
from merrow_optimizer.suggestions.node_edits import prompt_text, with_prompt, with_value
from merrow_optimizer.suggestions.refusals import Unusable

REPAIR_SECONDS = 1.0
_MOST_NODES = 400
"""Nodes of a text that is looked at, whatever else is said of its size."""
_FENCE = "```"


def rebuilt(ground: Ground, proposed: str) -> tuple[str, tuple[str, ...]]:
    """The workflow's text after the changes that make it mean what ``proposed`` means, and what was repaired for that.

    Raises `Unusable` with what is wrong, as the checker says it.
    """
    composed, prompts = _in_place(ground, _bare(proposed))
    if composed.count("\n") > _MOST_NODES * 10:
        raise Unusable("size", ["The workflow has too many lines."])
    after = ground.read(composed)
    repaired: tuple[str, ...] = ()
    if after.errors:  # what it is warned of is of the model's text, of which only the meaning is used
        after, repaired = _repaired(ground, composed, after)
    if after.typed is None or why_unchangeable(after) is not None:
        raise Unusable("read", [f"The text {why_unchangeable(after) or 'is not a workflow'}."])
    if len(after.typed.nodes) > ground.max_nodes:
        raise Unusable("size", [f"The workflow has {len(after.typed.nodes)} nodes; {ground.max_nodes} are allowed."])
    return _Rebuilding(ground, after, after.typed, prompts).text(), repaired


def _bare(text: str) -> str:
    """The text without a fence around it, and with lines that end as ours do."""
    lines = "\n".join(line.rstrip("\r\n") for line in split_lines(text)).strip("\n").split("\n")
    if lines[0].strip().startswith(_FENCE):
        end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), len(lines))
        lines = lines[1:end]
    return "\n".join(lines).strip("\n") + "\n"


def _in_place(ground: Ground, proposed: str) -> tuple[str, dict[str, str]]:
    """The body of a text below the workflow's own front matter, to which only its prompts are added; and all prompts that it
    has, by casefolded name. Raises `Unusable`.
    """
    diagram, own = parse_diagram(proposed), ground.analysis.diagram.front_matter
    front = diagram.front_matter
    body = "".join(block.text for block in diagram.blocks if front is None or block is not front[1])
    head = "" if own is None else own[1].text
    settings = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
    mine = NO_SETTINGS if own is None else ground.analysis.settings
    if settings.document.error is not None:
        raise Unusable("check", ["The front matter is not valid YAML."])
    different = () if front is None else front_matter(mine.document, settings.document, partly=True)
    problems = [difference for difference in different if "`workflow.prompts." not in difference]
    if problems:
        raise Unusable("allowed", problems)
    known = {name.casefold() for name in mine.prompts}
    gained = [(name, str(text)) for name, text in settings.prompts.items() if name.casefold() not in known]
    body_roles = _roles(ground.read(head + body))
    idle = [name for name in mine.prompts if name.casefold() in _roles(ground.analysis) - body_roles]
    try:
        head = exchange_prompts(head, gained, idle)
    except CannotWriteError as problem:
        raise Unusable("read", [str(problem)]) from None
    return head + body, {name.casefold(): str(text) for name, text in settings.prompts.items()}


def _roles(analysis: Analysis) -> set[str]:
    """The names of prompts that nodes ask for, casefolded."""
    nodes = () if analysis.typed is None else analysis.typed.nodes
    return {role[1].casefold() for role in map(role_of, nodes) if role is not None}


def _repaired(ground: Ground, text: str, analysis: Analysis) -> tuple[Analysis, tuple[str, ...]]:
    """The text repaired, which costs no call, and by which steps. Raises `Unusable` with the findings where it can't be."""
    if len(analysis.diagram.blocks) <= _MOST_NODES * 10:
        # An operator that the workflow does not have is not allowed, so declaring one helps nobody.
        done = repair(
            text,
            REPAIR_SECONDS,
            ground.opener.open,
            allows=lambda step: not step.title.startswith(DECLARES_AN_OPERATOR),
        )
        if done.is_valid:
            return ground.read(done.text), tuple(step.title for step in done.steps)
    raise Unusable("check", told(analysis.errors))


def told(findings: Iterable[Diagnostic]) -> list[str]:
    """Findings as a model is told them."""
    return [f"{finding.code}, line {finding.range.start.line + 1}: {finding.message}" for finding in findings]


@dataclass
class _Rebuilding:
    """Makes of the workflow what ``after`` means."""

    ground: Ground
    after: Analysis
    graph: TypedGraph
    said: Mapping[str, str]
    """The prompts of the model's own front matter, by casefolded name."""
    gained: dict[str, str] = field(default_factory=dict)
    """Prompts that the front matter gets, by casefolded name."""

    def text(self) -> str:
        own = self.ground.graph
        name = self._names()
        refused: list[str] = []
        added, substituted = [], {}
        prompts: dict[str, str] = {}
        values: list[tuple[str, str, float | None]] = []
        previous: dict[str | None, str] = {}
        for node in self.graph.nodes:
            old, box = own.by_id.get(name[node.id]), self.graph.composites.inside.get(node.id)
            if old is None:
                added.append(self._new(node, name[node.id], self._beside(name, previous, box)))
            elif node.operator != old.operator and "operator" in (node.kind, old.kind):
                substituted[old.id] = self._new(node, old.id, old.id)
            else:
                refused += self._parameters(old, node, prompts, values)
            previous[box] = name[node.id]
        if refused:
            raise Unusable("allowed", refused)
        gone = frozenset(own.by_id.keys() - set(name.values()))
        for node in own.nodes:
            if node.id in gone and node.kind in ("input", "output"):
                raise Unusable("allowed", [f"{node.id} is an {node.kind} of the workflow and must stay."])
        if self.graph.composites.boxes.keys() - own.composites.boxes.keys():
            raise Unusable(
                "allowed", ["A whole workflow can't add a Loop or a Map; use a mutation of the menu for it."]
            )
        change = GraphChange(added=tuple(added), removed=gone, substituted=substituted, edges=self._edges(name, gone))
        text = self._written(change)
        for node_id, prompt in prompts.items():
            text = with_prompt(text, self.ground.read(text), node_id, prompt)
        for node_id, key, value in values:
            text = with_value(text, self.ground.read(text), node_id, key, value)
        self._check(text, name)
        return text

    def _names(self) -> dict[str, str]:
        """For each node of the text the id that it has, or will have, in the workflow: the same, or that of a node that is the
        same but for its id and is in the text no more.
        """
        own = self.ground.graph
        left: dict[tuple[str, ...], list[str]] = {}
        for node in own.nodes:
            if node.id not in self.graph.by_id:
                left.setdefault(_key(self.ground.analysis, node), []).append(node.id)
        names: dict[str, str] = {}
        for node in self.graph.nodes:
            same = [] if node.id in own.by_id else left.get(_key(self.after, node), [])
            names[node.id] = same.pop(0) if same else node.id
        return names

    def _new(self, node: TypedNode, name: str, beside: str) -> NewNode:
        """A node that comes, as it has to be written."""
        own = self.ground
        spec = node.spec if node.spec is None or node.spec.is_decision else own.graph.operators.named(node.spec.name)
        if spec is None or not may_be_new(spec):
            raise Unusable(
                "allowed", [f"{node.id} may not be added: its operator {node.operator or ''} is not allowed."]
            )
        values = {key: parameter.value for key, parameter in node.resolution.parameters.items()}
        role = role_of(node)
        hidden = {"op", "role", "prompt", "template", *((spec.instruction_key,) if spec.instruction_key else ())}
        parameters = tuple((key, value) for key, value in values.items() if key not in hidden)
        own_words = "prompt" in values or spec.prompt is None
        prompt, role_name = prompt_text(self.after, node) if own_words else None, None if role is None else role[1]
        book = own.analysis.prompts
        if role_name is not None and prompt is not None and self.gained.get(role_name.casefold()) == prompt:
            return NewNode(name, spec, beside, role_name, parameters=parameters)
        if role_name is not None and (prompt is None or ((known := book.find(role_name)) and known.text == prompt)):
            return NewNode(name, spec, beside, role_name, parameters=parameters)
        if prompt is None or not own.analysis.settings.prompts:
            return NewNode(name, spec, beside, role_name, prompt, parameters)
        wanted, number = role_name or name.lower(), 1
        free = wanted
        while book.find(free) is not None or free.casefold() in self.gained:
            number += 1
            free = f"{wanted}_{number}"
        self.gained[free.casefold()] = prompt
        return NewNode(name, spec, beside, free, prompt, parameters, prompt_name=free)

    def _beside(self, name: Mapping[str, str], previous: Mapping[str | None, str], box: str | None) -> str:
        """After which node a new one is written: the one before it in the same Loop or Map, or the first there that stays."""
        own = self.ground.graph
        if box in previous:
            return previous[box]
        for node in self.graph.nodes:
            if name[node.id] in own.by_id and own.composites.inside.get(name[node.id]) == box:
                return name[node.id]
        raise Unusable("allowed", ["A whole workflow can't add a Loop or a Map; use a mutation of the menu for it."])

    def _parameters(
        self, old: TypedNode, node: TypedNode, prompts: dict[str, str], values: list[tuple[str, str, float | None]]
    ) -> list[str]:
        """Note what differs between a node and what is to become of it; sentences for what may not."""
        before = {key: parameter.value for key, parameter in old.resolution.parameters.items()}
        after = {key: parameter.value for key, parameter in node.resolution.parameters.items()}
        named = {"op", "role", "prompt"} | (
            {old.spec.instruction_key} if old.spec and old.spec.instruction_key else set()
        )
        for key in ("samples", "temperature"):
            if before.get(key) != after.get(key):
                value = after.get(key)
                if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
                    return [f"`{key}` of {old.id} must be a number."]
                values.append((old.id, key, value))
        prompt = prompt_text(self.after, node)
        said_prompt = self._said_prompt(node)
        prompt = prompt if said_prompt is None else said_prompt
        if prompt is not None and prompt.strip() != (prompt_text(self.ground.analysis, old) or "").strip():
            prompts[old.id] = prompt.strip("\n")
        return [
            f"`{key}` of {old.id} must stay as it is."
            for key in sorted((before.keys() | after.keys()) - named - {"samples", "temperature"})
            if before.get(key) != after.get(key)
        ]

    def _said_prompt(self, node: TypedNode) -> str | None:
        """The text that the model's own front matter gives to a node's role."""
        role = role_of(node)
        if role is None or "prompt" in node.resolution.parameters:
            return None
        return self.said.get(role[1].casefold())

    def _edges(self, name: Mapping[str, str], gone: frozenset[str]) -> dict[int, tuple[WantedEdge, ...]]:
        """What becomes of each edge, by its index; edges that stay are left out."""
        want = [
            WantedEdge(name[edge.source.id], name[edge.target.id], label_of(edge))
            for edge in self.graph.flow.edges
            if not edge.record.carries_nothing
        ]
        return links_in_place(self.ground.graph.flow, want, gone)

    def _written(self, change: GraphChange) -> str:
        ground = self.ground
        try:
            workflow_text = WorkflowText(ground.analysis.diagram, ground.graph)
            return edits_both_ways(workflow_text.places, write(workflow_text, change))[0]
        except ValueError as problem:
            sentence = str(problem) if isinstance(problem, CannotWriteError) else "The changes lie inside each other."
            raise Unusable("read", [f"The change can't be written into the file. {sentence}"]) from None

    def _check(self, text: str, name: Mapping[str, str]) -> None:
        """Raise `Unusable` where the text does not mean what the model's does."""
        result = self.ground.read(text).typed
        wanted, inside = terms_of(self.graph), self.graph.composites.inside
        if (
            result is None
            or terms_of(result).nodes
            != {name[node.id]: GraphNode(name[node.id], node.operator) for node in wanted.nodes.values()}
            or terms_of(result).edges != Counter(_renamed(edge, name) for edge in wanted.edges.elements())
            or result.composites.inside != {name[node]: box for node, box in inside.items()}
        ):
            raise Unusable("read", ["The change can't be written into the file; use moves of the menu for it."])


def _renamed(edge: GraphEdge, name: Mapping[str, str]) -> GraphEdge:
    return edge._replace(source=name[edge.source], target=name[edge.target])


def _key(analysis: Analysis, node: TypedNode) -> tuple[str, ...]:
    """What a node is, without its id."""
    parameters = sorted(
        (key, repr(parameter.value))
        for key, parameter in node.resolution.parameters.items()
        if key not in ("op", "role", "prompt")
    )
    return node.kind, node.operator or "", repr(parameters), prompt_text(analysis, node) or ""
