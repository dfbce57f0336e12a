"""What nodes ask of stores: kept as facts, so that a resume and a replay have what was found, and add nothing twice."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from merrow_runtime.calls.account import NodeAccount
from merrow_runtime.calls.effects import Effects
from merrow_runtime.calls.embedding_use import EmbeddingUse
from merrow_runtime.documents.database import Found
from merrow_runtime.documents.places import StorePlace
from merrow_runtime.documents.reading import LONGEST_TEXT
from merrow_runtime.errors import InputError, NodeFailure, StoreFailure
from merrow_runtime.operators.retrieve import DOCUMENTS
from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.usage import NOTHING
from merrow_runtime.values import Value


@dataclass(frozen=True, slots=True)
class StoreUse:
    """One use of a store, with its key and what the key is known by (`digested`: the hash of the request, and the request as a
    JSON text). Uses that began before ``since`` are another visit's.
    """

    effects: Effects
    account: NodeAccount
    key: CallKey
    place: StorePlace
    digested: tuple[str, str]
    workflow: str
    """How the user knows the workflow."""
    since: float = 0.0
    embedding: EmbeddingUse | None = None
    """By what vectors documents are found; None where it is by words."""

    async def found(self, query: str, wanted: int) -> list[Value]:
        """The best documents for a query, as they were found the first time. Raises `NodeFailure`."""
        record = await self._recalled()
        if record is None:
            started = time.time()
            try:
                if self.embedding is None:
                    found = await self.effects.stores.search(self.place, query, wanted)
                else:
                    found = await self.embedding.search(self.place, query, wanted)
            except (InputError, StoreFailure) as failure:
                raise NodeFailure.of(self.key.node, str(failure)) from None
            given = [_document(self.place.store.name, document) for document in found]
            record = await self._keep({DOCUMENTS: given}, started)
        if record.endpoint:
            self.account.answered[record.source] = None
        documents: list[Value] | None = record.result.get(DOCUMENTS)
        if not isinstance(documents, list):
            raise NodeFailure.of(self.key.node, "what it found is damaged in the journal.")
        return documents

    async def remember(self, text: str) -> None:
        """Add a text. Raises `NodeFailure`."""
        effects, key = self.effects, self.key
        if len(text) > LONGEST_TEXT:
            raise NodeFailure.of(key.node, f"its text has more than {LONGEST_TEXT:,} characters; keep less of it.")
        record = await self._recalled()
        if record is not None and not effects.stores.are_copies:
            return
        started = time.time()
        try:
            # First the store, then the journal: what is added again under this key changes nothing.
            name = f"{effects.telling.run}\n{key.visit}\n{key.sample}\n{key.step}"
            # Prompts show where a document is from: a run's own id there would make each of them another one.
            await effects.stores.add(self.place, name, text, self.workflow, f"node {key.node}")
        except StoreFailure as failure:
            raise NodeFailure.of(key.node, str(failure)) from None
        if record is None:
            await self._keep({}, started)

    async def _recalled(self) -> CallRecord | None:
        effects = self.effects
        if not effects.knows:
            return None
        return await effects.recall(self.key, self.digested[0], self.account, model=False, since=self.since)

    async def _keep(self, result: dict[str, Any], started: float) -> CallRecord:
        record = CallRecord(
            self.key,
            "fact",
            *self.digested,
            text_of(result),
            NOTHING,
            True,
            "store",
            started,
            time.time() - started,
            *(() if self.embedding is None else (self.effects.endpoint, self.embedding.model)),
        )
        return await self.effects.commit(record, self.account)


def _document(store: str, found: Found) -> dict[str, Value]:
    """A document as workflows have it (`merrow_analysis.definitions.stores.DOCUMENT_FIELDS`)."""
    return {
        "text": found.text,
        "source": found.source,
        "place": found.place,
        "store": store,
        "row": found.row,
        "score": found.score,
    }
