"""What an evaluation depends on at a process that works on it, and how a worker that differs is refused."""

from __future__ import annotations

import platform

from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.sandbox import SandboxRefusedError
from merrow_runtime.sandbox.backends import choose
from merrow_runtime.store.database import Store
from merrow_runtime.version import VERSION
from merrow_server.evaluations.prepared_evaluation import PreparedEvaluation
from merrow_server.workers.terms import WorkerFacts

NO_SANDBOX = "none"


def python_version() -> str:
    """Of this process, without the third number: programs that are generated and tested behave alike."""
    return ".".join(platform.python_version_tuple()[:2])


def sandbox_name() -> str:
    """The back end that isolates generated code here; asks the system, which may take seconds."""
    try:
        return choose(None, False).name
    except SandboxRefusedError:
        return NO_SANDBOX


def facts_of(prepared: PreparedEvaluation, user: Store) -> WorkerFacts:
    """Those of this process; ``user`` is the user's store."""
    return WorkerFacts(
        VERSION,
        python_version(),
        sandbox_name(),
        user.journal_id(),
        prepared.plan.chosen.endpoint.origin,
        has_key(prepared),
        prepared.data.hash,
        " ".join(prepared.plan.stores),
    )


def refusal_of_program(must: WorkerFacts) -> str | None:
    """Why this process can't work on an evaluation that began with ``must``, by what is installed here; None where it can."""
    for what, here, there in (
        ("Merrow", VERSION, must.version),
        ("Python", python_version(), must.python),
        ("the sandbox", sandbox_name(), must.sandbox),
    ):
        if here != there:
            return f"it has {what} {here}, and the evaluation began with {there}; use the same on both"
    return None


def refusal_of_journal(user: Store, evaluation: str, must: WorkerFacts) -> str | None:
    """The same by the journal that it has."""
    if user.journal_id() == must.journal and user.evaluations.status(evaluation) is not None:
        return None
    if user.path is None:
        return "its journal is another one than that of the evaluation; set MERROW_JOURNAL or `[journal] url` as here"
    return (
        "it doesn't see the journal of the evaluation: a journal in a file is for one machine and one MERROW_STATE_DIR, a"
        " journal in PostgreSQL for all (MERROW_JOURNAL, or `[journal] url` in the settings)"
    )


def refusal_of_access(prepared: PreparedEvaluation, must: WorkerFacts) -> str | None:
    """The same by its key and its data; that the endpoint is the same was looked at before."""
    if has_key(prepared) != must.has_key:
        there = "has no key for" if must.has_key else "has a key for"
        return f"it {there} {must.origin}, unlike the machine that the evaluation began on"
    if prepared.data.hash != must.data:
        return "its copy of the data is not the same"
    if " ".join(prepared.plan.stores) != must.stores:
        return "the stores of the workflow don't have the same documents there"
    return None


def has_key(prepared: PreparedEvaluation) -> bool:
    """Whether a key goes to the endpoint."""
    connection = getattr(prepared.plan.chosen.endpoint, "connection", None)
    return isinstance(connection, EndpointConnection) and connection.api_key is not None
