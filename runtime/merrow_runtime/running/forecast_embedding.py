"""What it may use to have the documents of stores embedded, and the queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from merrow_runtime.calls.embedding_use import batches_of, maker_of
from merrow_runtime.documents.by_embedding import embedded_text
from merrow_runtime.documents.places import StorePlace
from merrow_runtime.documents.run_stores import RunStores
from merrow_runtime.errors import InputError, StoreFailure
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import estimate_call
from merrow_runtime.operators.retrieve import STORE
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Step
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.forecast_figures import FREE, OPEN, Cost, PlannedNode
from merrow_runtime.values import Value
from merrow_runtime.workflow import Workflow


@dataclass(slots=True, eq=False)
class EmbeddingForecast:
    """Counts the texts of each store once, however many nodes search it; ``once`` is what these may use."""

    endpoint: Endpoint
    root: Path | None
    options: RunOptions
    once: Cost = FREE
    _counted: dict[tuple[StorePlace, str], int] = field(default_factory=dict)

    def of(self, planned: PlannedNode, workflow: Workflow, step: Step, query: Value) -> PlannedNode:
        """A node that searches by embedding, with what that may use."""
        stores = RunStores(self.root, leaves_nothing=self.options.no_store)
        model = step.definition.model
        try:
            place = stores.place_of(workflow, str(step.definition.parameters[STORE]))
            texts = self._counted.get((place, model))
            if texts is None:
                missing = stores.unembedded(place, maker_of(self.endpoint.origin, model))
                texts = self._counted[place, model] = len(missing)
                for batch in batches_of(missing):
                    self.once += self._cost(model, batch.values())
        except (InputError, StoreFailure) as problem:
            return replace(planned, costs=OPEN, why_open=str(problem))
        finally:
            stores.close()
        return replace(planned, costs=self._cost(model, [embedded_text(str(query))]), embeds=texts)

    def _cost(self, model: str, texts: Iterable[str]) -> Cost:
        """What a call for some texts may use; nothing at least, since others may have them embedded by then."""
        price = price_at(self.endpoint, model)
        usage = estimate_call(ModelRequest(model, (), embeds=tuple(texts)), self.endpoint, price)
        return Cost(FREE.least, (1, usage.tokens, usage.cost_usd or 0.0), price is not None)
