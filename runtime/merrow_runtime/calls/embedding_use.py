"""What a node has embedded: in batches, each of which is paid like any call, and no text twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from merrow_runtime.calls.account import NodeAccount
from merrow_runtime.calls.effects import Effects, PendingQuestion
from merrow_runtime.documents.by_embedding import Unembedded
from merrow_runtime.documents.database import Found
from merrow_runtime.documents.places import StorePlace
from merrow_runtime.errors import EndpointFailure, NodeFailure
from merrow_runtime.models.tokens import estimate_tokens
from merrow_runtime.requests import CallKey, ModelRequest
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.together import together

MOST_TEXTS = 100
"""Of a batch. Their vectors, written as JSON, are less than half of what is read of an answer."""
MOST_TOKENS = 50_000
"""Of a batch, by our own count: servers refuse requests of more than some hundred thousand."""


def maker_of(origin: str, model: str) -> str:
    """What vectors are of: a model at an endpoint."""
    return f"{origin}\n{model}"


def batches_of(texts: Mapping[bytes, str]) -> Iterator[Mapping[bytes, str]]:
    """Texts in the requests that are made for them."""
    batch: dict[bytes, str] = {}
    tokens = 0
    for key, text in texts.items():
        more = estimate_tokens(text)
        if batch and (len(batch) == MOST_TEXTS or tokens + more > MOST_TOKENS):
            yield batch
            batch, tokens = {}, 0
        batch[key] = text
        tokens += more
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class EmbeddingUse:
    """The search of a node by the vectors of a ``model``. ``retries`` and ``timeout`` are the node's, and ``sample`` is told with
    events.
    """

    effects: Effects
    account: NodeAccount
    key: CallKey
    model: str
    retries: int | None = None
    timeout: float | None = None
    sample: int | None = None

    async def search(self, place: StorePlace, query: str, wanted: int) -> Sequence[Found]:
        """The documents of a store that are nearest to a query.

        Raises `InputError`, `StoreFailure`, `EndpointFailure`, `BudgetFailure` and `NodeFailure`.
        """
        maker = maker_of(self.effects.calling.origin, self.model)
        done: set[bytes] = set()
        while True:
            found = await self.effects.stores.search_by_embedding(place, maker, query, wanted)
            if not isinstance(found, Unembedded):
                return found
            if found.texts.keys() <= done:  # nothing is paid twice, whoever removes what was kept
                raise NodeFailure.of(
                    self.key.node, "the vectors of its documents are removed while it runs; run it again."
                )
            done |= await self._embed(found.texts)

    async def _embed(self, texts: Mapping[bytes, str]) -> set[bytes]:
        """Have texts embedded, unless that is done for another node just now; then wait for it. The keys of the former."""
        gate = self.effects.gate
        theirs = {gate.embedding[key] for key in texts if key in gate.embedding}
        own = {key: text for key, text in texts.items() if key not in gate.embedding}
        done = asyncio.Event()
        gate.embedding.update(dict.fromkeys(own, done))
        gate.under_way += 1
        try:
            await together(map(self._batch, batches_of(own)))
        finally:
            gate.under_way -= 1
            for key in own:
                del gate.embedding[key]
            done.set()
        for other in theirs:
            await other.wait()
        return set(own)

    async def _batch(self, texts: Mapping[bytes, str]) -> None:
        effects, account = self.effects, self.account
        request = ModelRequest(self.model, (), timeout=self.timeout, embeds=tuple(texts.values()))
        digest = request.hash
        key = replace(self.key, step=f"{self.key.step} embed {digest[:16]}")
        question = PendingQuestion(effects, account, key, request, digest, self.retries, self.sample, past_cache=False)
        started = time.time()
        try:
            reply = await effects.embed(question)
        except EndpointFailure as lost:
            if account.run.unanswered is None:
                account.run.unanswered = lost.at(key.node, key.path).sentence
            raise
        numbers = len(reply.vectors[0]) // 4
        # The hash says which texts they were; all of them would make a journal of any store as large as the store.
        shown = {"model": self.model, "texts": len(request.embeds)}
        record = CallRecord(
            key,
            "fact",
            digest,
            text_of(shown),
            text_of({"vectors": len(reply.vectors), "numbers": numbers}),
            reply.usage,
            True,
            "endpoint",
            started,
            reply.seconds,
            effects.endpoint,
            reply.model or self.model,
        )
        try:
            # First the vectors, then the journal: what is written down as paid is there to be used.
            await effects.stores.keep_vectors(dict(zip(texts, reply.vectors, strict=True)))
        finally:
            await effects.commit(record, account)
