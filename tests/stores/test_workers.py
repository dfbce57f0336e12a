"""Workers of a cluster work on an evaluation only where its stores have the same documents."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from merrow_server.workers.facts import refusal_of_access
from merrow_server.workers.terms import WorkerFacts


def prepared(*stores: str) -> Any:
    """An evaluation as a worker has prepared it, with what its stores are known by there."""
    plan = SimpleNamespace(chosen=SimpleNamespace(endpoint=SimpleNamespace()), stores=stores)
    return SimpleNamespace(plan=plan, data=SimpleNamespace(hash="data"))


def test_a_worker_with_other_documents_is_refused() -> None:
    must = WorkerFacts("1", "3.11", "none", "journal", "origin", False, "data", "one two")
    assert WorkerFacts.of_text(must.to_text()) == must
    assert refusal_of_access(prepared("one", "two"), must) is None
    assert refusal_of_access(prepared("one", "other"), must) == (
        "the stores of the workflow don't have the same documents there"
    )
    assert refusal_of_access(prepared(), must) is not None
