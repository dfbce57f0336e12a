"""The workflow that suggestions are made for, with what all of them need to know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.nodes import TypedGraph
from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, Proposals
from merrow_optimizer.mutations.original import why_unchangeable
from merrow_runtime.errors import UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.workflow import RecordingProvider, Workflow

_LEAST_NODES, _ROOM = 12, 6


class Ground:
    """A workflow without errors. Files beside it are those that its analysis has read; no other file is looked at.

    ``max_nodes`` bounds how far a suggestion may let it grow; by default 12 nodes, or 6 more than it has. ``operators`` are the
    mutations by name. Raises `UsageFailure` where it can't be changed.
    """

    def __init__(
        self,
        workflow: Workflow,
        options: RunOptions,
        operators: Mapping[str, Proposals] = OPERATORS,
        max_nodes: int | None = None,
    ) -> None:
        known = RecordingProvider(None)
        known.files = {path: dict(texts) for path, texts in workflow.files.items()}
        self.workflow, self.options, self.text = workflow, options, workflow.text
        self._files = Files(workflow.path, known, workflow.config)
        self.analysis = self.read(workflow.text)
        why = why_unchangeable(self.analysis)
        if why is not None:
            raise UsageFailure(f"{workflow.name} {why}.")
        nodes = len(self.graph.nodes)
        self.max_nodes = max(_LEAST_NODES, nodes + _ROOM) if max_nodes is None else max_nodes
        self.choice = MoveFilter(operators, max_nodes=self.max_nodes, files=self._files)

    @property
    def graph(self) -> TypedGraph:
        """Its typed graph."""
        graph = self.analysis.typed
        assert graph is not None  # noqa: S101 (see `__init__`)
        return graph

    def read(self, text: str) -> Analysis:
        """A text in its place."""
        return self._files.open(text).analysis()

    @property
    def opener(self) -> Files:
        """How texts in its place are opened."""
        return self._files

    @cached_property
    def warnings(self) -> Counter[str]:
        """How many warnings it has of each code."""
        return Counter(
            diagnostic.code for diagnostic in self.analysis.diagnostics if diagnostic.severity is Severity.WARNING
        )

    def complaints(self, analysis: Analysis) -> list[Diagnostic]:
        """The errors of a text, and the warnings that this workflow does not have."""
        complaints, seen = list(analysis.errors), Counter[str]()
        errors = set(map(id, complaints))
        for diagnostic in analysis.diagnostics:
            if diagnostic.severity is Severity.WARNING and id(diagnostic) not in errors:
                seen[diagnostic.code] += 1
                if seen[diagnostic.code] > self.warnings[diagnostic.code]:
                    complaints.append(diagnostic)
        return complaints

    def as_workflow(self, text: str, analysis: Analysis) -> Workflow:
        """A valid text in its place as a workflow that can be run."""
        graph = analysis.typed
        if graph is None:
            raise UsageFailure(f"A text for {self.workflow.name} is not a workflow.")
        own = self.workflow
        return replace(own, text=text, analysis=analysis, graph=graph, called=dict(own.called), steps={})

    def key(self, text: str, analysis: Analysis) -> str:
        """What a valid text does, as a hash: equal for workflows that do the same. Raises `UsageFailure`."""
        workflow = self.as_workflow(text, analysis)
        return semantic_hash(workflow, make_steps(workflow, self.options))

    @cached_property
    def own_key(self) -> str:
        """What the workflow itself does."""
        return self.key(self.text, self.analysis)
