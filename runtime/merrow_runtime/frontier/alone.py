"""The frontier of a run of one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import RunFailure
from merrow_runtime.frontier.outcomes import Chose, Consequence, Ended, Failed, Gave, Inputs, Outcome, Start
from merrow_runtime.operators.base import Remembered, Wants
from merrow_runtime.values import Value
from merrow_runtime.visit import Visit


class OneNode:
    """The same as `merrow_runtime.frontier.Frontier`, for one node with given inputs instead of a whole graph. Its failure is
    always that of the run, and its default output, or the case that it takes, is what the run gives.
    """

    count = 1

    def __init__(
        self, node: TypedNode, inputs: Inputs, memory: Sequence[Remembered], path: str = "", ordinal: str = ""
    ) -> None:
        """``path`` and ``ordinal`` are those of the frame whose visit it is."""
        self.failure: RunFailure | None = None
        self.is_over = False
        self._node, self._inputs, self._memory = node, inputs, memory
        self._path, self._ordinal = path, ordinal
        self._results: dict[str, Value] = {}

    @property
    def results(self) -> Mapping[str, Value]:
        """The node's first output, or the label of the case that it takes, by its id."""
        return self._results

    def begin(self) -> list[Consequence]:
        """The node can start."""
        return [Start(self._node, Visit(self._node.id, self._path), self._inputs, self._ordinal)]

    def tell(self, outcome: Outcome) -> list[Consequence]:
        """Take in how the node ended; nothing follows."""
        self.is_over = True
        if isinstance(outcome, Gave):
            self._results[self._node.id] = next(iter(outcome.outputs.values()))
        elif isinstance(outcome, Chose) and outcome.case is not None and self._node.cases is not None:
            self._results[self._node.id] = self._node.cases.labels[outcome.case]
        elif isinstance(outcome, (Failed, Ended)) and self.failure is None:
            self.failure = outcome.cause
        return []

    def close(self) -> None:
        """There is nothing to give up."""

    def ends(self, on_error: str) -> bool:
        """Whether a failure ends the run; ``on_error`` is what the settings say."""
        del on_error
        return True

    def counts(self, visit: Visit) -> bool:
        """Whether what comes of a visit makes a difference: always."""
        del visit
        return True

    def remembered(
        self, node: TypedNode, inputs: Inputs, path: str = "", *, wants: Wants | None = None
    ) -> list[Remembered]:
        """What the node remembers: what it did in the earlier run."""
        del node, inputs, path, wants
        return list(self._memory)
