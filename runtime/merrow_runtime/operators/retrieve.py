"""Retrieve: finds documents of a store by the words of a query, or by embedding it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_analysis.definitions.schema import EMBEDDING as EMBEDDING
from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, default_port, text_at
from merrow_runtime.values import Outputs

STORE, DECLARED = "store", "declared"
"""Parameters of its definition and of Remember's: the store's name, and what the workflow says of it."""
BY = "by"
DOCUMENTS = "documents"
"""Where the result of its call has what was found."""
_STEP = "retrieve"
_MOST = 5


class Retrieve(ModelOperator):
    """Outputs the documents, the best first. It asks no model."""

    name: ClassVar[str] = "Retrieve"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 0)
    by_embedding: ClassVar[bool] = False

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """No model is asked."""
        del task
        return ()

    async def run(self, task: Task, tools: Tools) -> Outputs:
        parameters = task.node.parameters
        wanted = parameters.get("k")
        most = int(wanted) if isinstance(wanted, (int, float)) else _MOST
        found = await tools.retrieve(
            _STEP, str(parameters[STORE]), text_at(task, "query"), most, by_embedding=self.by_embedding
        )
        return {default_port(task.node): found}


class RetrieveByEmbedding(Retrieve):
    """The same by vectors, which a model makes. What it asks has no messages: a forecast counts texts (`embeds`)."""

    calls: ClassVar[tuple[int, int]] = (0, 1)
    by_embedding: ClassVar[bool] = True
