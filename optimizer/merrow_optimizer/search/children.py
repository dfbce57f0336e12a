"""Where candidates come from: safe moves and crossover of the workflows of a search, each read and keyed before it is scored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Protocol

from merrow_analysis.check import Analyser, Analysis
from merrow_optimizer.crossover.children import CrossoverRefusedError, drawn_children
from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, draw_from, moves
from merrow_optimizer.mutations.original import Original, why_unchangeable
from merrow_optimizer.search.candidates import START, CandidateDraft
from merrow_optimizer.search.features import features_of, prompts_of
from merrow_runtime.errors import UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.workflow import Workflow

_REMEMBERED = 24
"""Parents that are kept read: as many as a search usually draws children of at the same time."""


GIVEN = "given"
"""In place of a mutation: a workflow that was given to the search."""
MODEL = "model"
"""In place of a mutation: a workflow that a model proposed."""


class Proposer(Protocol):
    """Makes new workflows of those that a search has. What it makes follows from its arguments alone."""

    @property
    def operators(self) -> tuple[str, ...]:
        """The mutations that it knows, by name."""

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        """A child of the candidate with this number, made by ``operator`` where one is named; None where there is none."""

    def further(self, draft: CandidateDraft, chance: Random) -> CandidateDraft | None:
        """A draft with one more change, of the same parents; None where there is none."""

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        """A child of two candidates; None where they have none."""


class Nothing:
    """Proposes no workflow: all are given to the search."""

    operators: tuple[str, ...] = ()

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        """See `Proposer`."""
        del number, parent, chance, operator
        return None

    def further(self, draft: CandidateDraft, chance: Random) -> CandidateDraft | None:
        """See `Proposer`."""
        del draft, chance
        return None

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        """See `Proposer`."""
        del number, parent, other_number, other, chance
        return None


class Moves:
    """Safe moves and crossover, without a model.

    ``max_nodes`` bounds how far a workflow may grow; by default 12 nodes, or 6 more than the start has. Raises `UsageFailure`
    where the start can't be changed.
    """

    def __init__(
        self, start: Workflow, options: RunOptions, files: Files | None = None, max_nodes: int | None = None
    ) -> None:
        why = why_unchangeable(start.analysis)
        if why is not None:
            raise UsageFailure(f"{start.name} {why}.")
        self._start, self._options = start, options
        self._files = files or Files(config=start.config)
        nodes = len(start.graph.nodes)
        self.max_nodes = max(12, nodes + 6) if max_nodes is None else max_nodes
        self._choice = MoveFilter(OPERATORS, max_nodes=self.max_nodes, files=self._files)
        self._read: OrderedDict[str, _Parent] = OrderedDict()
        self._newest: tuple[str, Analyser] | None = None

    @property
    def operators(self) -> tuple[str, ...]:
        """The mutations by name."""
        return tuple(self._choice.operators)

    def start(self) -> CandidateDraft:
        """The workflow that the search begins with."""
        return self._draft(self._start.text, self._start.analysis, (), "", "")

    def given(
        self, text: str, title: str, parents: tuple[int, ...] = (START,), operator: str = GIVEN
    ) -> CandidateDraft:
        """A workflow that somebody or a model gives, as a candidate. Raises `UsageFailure` where it can't be one."""
        analysis = self._files.open(text).analysis()
        why = why_unchangeable(analysis)
        if why is None and _interface(analysis) != _interface(self._start.analysis):
            why = f"has other inputs or outputs than {self._start.name}"
        draft = None if why else self._tried(text, analysis, parents, operator, title)
        if draft is None:
            why = why or f"has errors, no call, or more than {self.max_nodes} nodes"
            raise UsageFailure(f"{title} can't be a candidate: it {why}.")
        return draft

    @property
    def has_moves(self) -> bool:
        """Whether the start can be changed at all."""
        return next(moves(self._start.analysis, self._choice), None) is not None

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        """A child by one random safe move; None where there is no such move."""
        choice = self._choice
        if operator is not None:
            choice = replace(choice, operators={operator: choice.operators[operator]})
        return self._changed(parent.text, self._parent(parent.text), choice, chance, (number,))

    def further(self, draft: CandidateDraft, chance: Random) -> CandidateDraft | None:
        """A draft with one more safe move; None where there is no such move."""
        text, analyser = self._newest or ("", None)
        if analyser is None or text != draft.text:
            analyser = self._files.open(draft.text)
        more = self._changed(draft.text, _Parent(analyser), self._choice, chance, draft.parents)
        return more and replace(more, operator=draft.operator, title=f"{draft.title}; {more.title}")

    def _changed(
        self, text: str, known: _Parent, choice: MoveFilter, chance: Random, parents: tuple[int, ...]
    ) -> CandidateDraft | None:
        original = known.original
        files = replace(self._files, reading=known.analyser)
        move = draw_from(original, chance, replace(choice, files=files))
        if move is None:
            return None
        after = move.apply(text)
        read, trial = original.newest or ("", None)
        if trial is None or read != after:
            trial = files.open_after(original.analysis, move.edits, after)
        self._newest = after, trial
        return self._tried(after, trial.analysis(), parents, move.operator, move.title)

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        """A child of two workflows cut at a random pair of matching places; None where there is none."""
        first, second = self._parent(parent.text).original.analysis, self._parent(other.text).original.analysis
        try:
            # Nodes may be called A and B, too.
            names = f"round {number}", f"round {other_number}"
            child = next(drawn_children(first, second, chance.getrandbits(32), names=names))
        except CrossoverRefusedError:
            return None
        analysis = self._files.open(child.text).analysis()
        return self._tried(child.text, analysis, (number, other_number), "crossover", child.title)

    def _tried(
        self, text: str, analysis: Analysis, parents: tuple[int, ...], operator: str, title: str
    ) -> CandidateDraft | None:
        graph = analysis.typed
        if graph is None or not analysis.is_valid or len(graph.nodes) > self.max_nodes:
            return None
        try:
            draft = self._draft(text, analysis, parents, operator, title)
        except UsageFailure:  # A parameter that can't be used; running it would be refused likewise.
            return None
        return draft if draft.calls else None  # Without a call its answer is the problem: not worth a score.

    def _draft(
        self, text: str, analysis: Analysis, parents: tuple[int, ...], operator: str, title: str
    ) -> CandidateDraft:
        graph = analysis.typed
        assert graph is not None  # noqa: S101 (whoever asks has looked)
        start = self._start
        called: Mapping[str, Workflow] = start.called
        workflow = replace(start, text=text, analysis=analysis, graph=graph, called=dict(called), steps={})
        steps = make_steps(workflow, replace(self._options, person=None))  # who plays a person makes no other candidate
        key = semantic_hash(workflow, steps)
        told = {node: step.definition.prompt for node, step in steps.items() if step.definition.prompt is not None}
        calls = sum(step.samples or 1 for step in steps.values())
        return CandidateDraft(
            text,
            parents,
            operator,
            title,
            key,
            features_of(graph, analysis.settings),
            calls,
            len(graph.nodes),
            prompts=prompts_of(graph, told),
        )

    def _parent(self, text: str) -> _Parent:
        known = self._read.pop(text, None) or _Parent(self._files.open(text))
        self._read[text] = known
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)
        return known


def _interface(analysis: Analysis) -> tuple[list[str], list[str]]:
    """The ids of inputs and of outputs, in any case of letters."""
    graph = analysis.typed
    if graph is None:
        return [], []
    return sorted(node.id.casefold() for node in graph.inputs), sorted(node.id.casefold() for node in graph.outputs)


class _Parent:
    """A workflow that children are made of, read once."""

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self.original = Original(analyser.analysis())
