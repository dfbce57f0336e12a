"""Extractions in this process, answered by a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.optimizer.extraction.planted import World
from tests.optimizer.kept_workers import kept_workers
from tests.runtime.engine.fakes import FakeEndpoint, Said

from merrow_optimizer.extraction.extraction_report import files, library, report
from merrow_optimizer.extraction.extractor import Extractor
from merrow_optimizer.extraction.plan import ExtractionSettings
from merrow_optimizer.extraction.sessions import begin, work
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.extractions.prepared_extraction import ExtractionAsked, prepare_extraction

MARKS = {
    "initial": "shown one problem with its solution",
    "described": "You are told what kind of problems",
    "placing": "may belong to several groups",
    "groups": "become one operator",
    "deepening": "drawn from solved problems. Make fewer",
    "aggregating": "Several people",
    "wording": "put together from steps",
}


def stage_of(request: ModelRequest) -> str:
    """Which question this is; ``run`` for that of a step of a case."""
    said = request.messages[0].content
    return next((name for name, mark in MARKS.items() if mark in said), "run")


def body_of(request: ModelRequest) -> dict[str, Any]:
    """A question as an endpoint receives it."""
    schema = {} if request.schema is None else {"schema": dict(request.schema.schema)}
    return {
        "messages": [{"role": one.role, "content": one.content} for one in request.messages],
        "temperature": request.temperature,
        "response_format": {"json_schema": schema},
    }


@dataclass
class Extracted:
    """What an extraction came to, and what was asked."""

    extractor: Extractor
    report: dict[str, Any]
    files: dict[str, str]
    library: str
    asked: Counter[str]


def rows_file(folder: Path, rows: Sequence[dict[str, Any]], name: str = "math_validate.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def extract(
    folder: Path,
    world: World,
    *,
    rows: Sequence[dict[str, Any]] | None = None,
    answer: Callable[[ModelRequest], Said] | None = None,
    **settings: Any,
) -> Extracted:
    """Extract from a world's cases. ``answer`` answers in the world's place."""
    file = rows_file(folder, world.rows() if rows is None else rows)

    def said(request: ModelRequest) -> Said:
        found = world.answer(body_of(request)) if answer is None else answer(request)
        return ModelReply(found, usage=Usage(10, 5, 1, 0.0)) if isinstance(found, str) else found

    endpoint = FakeEndpoint(said)
    asked = ExtractionAsked(EvaluationRequest(str(file), model="m"), ExtractionSettings(**settings), "g")

    async def carried_out(user: Store) -> Extractor:
        prepared = await prepare_extraction(asked, user, lambda *_: ChosenEndpoint(endpoint, concurrency=16))
        try:
            data = prepared.data
            record = begin(user, prepared.plan, str(file), data.hash, data.part, prepared.again)
            return await work(user, record, prepared.plan, lambda *_: None)
        finally:
            await prepared.close()

    with kept_workers(), closing(Store.open(folder / "runs.sqlite")) as user:
        extractor = asyncio.run(carried_out(user))
    assert extractor.stopped_by is None, extractor.stopped_by
    whole = extractor.outcome.why_nothing is None
    return Extracted(
        extractor,
        report(extractor),
        files(extractor) if whole else {},
        library(extractor) if whole else "",
        Counter(map(stage_of, endpoint.seen)),
    )
