"""The journal as an editor asks for it: lists of runs, one run, two compared, one taken out."""

from __future__ import annotations

import json
from typing import Any

from merrow_runtime.revising.revision_requests import snapshot_at
from merrow_server.evaluations.journals import journal_with
from merrow_server.jobs.comparing import compare_runs
from merrow_server.jobs.places import place_of
from merrow_server.jobs.session import Session
from merrow_server.reports.run_report import run_object, run_report

Json = dict[str, Any]


def list_runs(session: Session, workflow: str | None, limit: int) -> tuple[list[Json], list[str]]:
    """The newest runs, newest first, of one workflow where its name is given; and a sentence about each record that is
    damaged. Raises `StoreFailure`.
    """
    running = session.desk.here
    damaged: list[str] = []
    with session.reading() as store:
        runs = store.runs(limit, workflow, damaged.append)
        listed = [{**run_object(run), **place_of(run.workflow), "here": run.id in running} for run in runs]
    return listed, damaged


def show_run(session: Session, run: str, node: str | None) -> Json:
    """A run as a whole, or one of its nodes; ``text`` is as its revisions have made it. Raises `UsageFailure` where there is
    none, `StoreFailure`.
    """
    with session.reading() as user, journal_with(user, run) as store:
        report = run_report(store, run, node)
        if report["revisions"]:
            report["text"] = json.loads(snapshot_at(store, report["run"])).get("text")
    return {**report, **place_of(report["workflow"])}


def delete_run(session: Session, run: str) -> Json:
    """Take a run out of the journal. Raises `StoreFailure` while a process works on it."""
    identity = session.store.identity(run)
    session.store.delete(identity)
    return {"run": identity}


def compare(session: Session, first: str, second: str) -> Json:
    """Two runs side by side; see `compare_runs`."""
    with session.reading() as store:
        return compare_runs(store, first, second)
