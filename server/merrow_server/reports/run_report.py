"""Runs of the journal as plain data, the same for the command line and for editors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from merrow_runtime.errors import UsageFailure
from merrow_runtime.provenance import OFFLINE_ORIGIN, answered_by, plain
from merrow_runtime.revising.revision_requests import snapshot_at
from merrow_runtime.running.run import open_question
from merrow_runtime.store.contract import CallRecord, LoopRecord, NodeRecord, RevisionRecord, RunRecord, exhausted_of
from merrow_runtime.store.recordings.recording import REVISER
from merrow_runtime.store.rows import SENT
from merrow_runtime.visit import is_called
from merrow_runtime.workflow import restore
from merrow_server.reports.agent_steps import agent_steps
from merrow_server.reports.episodes import episodes_of
from merrow_server.reports.given import given_value

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def run_object(run: RunRecord) -> dict[str, Any]:
    """A run in a list: what it was about, how it ended, what it cost."""
    return {
        "run": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "started": run.started,
        "seconds": None if run.ended is None else run.seconds,
        "usage": run.usage.to_json(),
        "sources": plain(run.sources),
        "answered_by": answered_by(run.sources),
        "error": run.error,
        **({} if run.failure is None else run.failure.to_json()),
        "parent": run.parent,
        **({"author": run.author} if run.author else {}),
    }


def revision_object(revision: RevisionRecord) -> dict[str, Any]:
    """A revision of a run: who asked for it, how it stands, and what became of the nodes."""
    return {
        "revision": revision.number,
        "state": revision.state,
        "trigger": revision.trigger,
        "reason": revision.reason or None,
        "at": revision.at,
        "diff": dict(revision.adopted),
    }


def updates_of(run: RunRecord, revisions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How much the revisions of a run changed, as Flow counts it: how many tasks it began with (``initial``), which of them have
    ``changed`` since, and their share (``ratio``; None without tasks). None if the workflow was never to be revised.
    """
    if not revisions:
        return None
    applied = [
        revision["diff"]["tasks"]
        for revision in revisions
        if revision["state"] == "applied" and "tasks" in revision["diff"]
    ]
    if applied:
        return {**applied[-1], "ratio": ratio_of(len(applied[-1]["changed"]), applied[-1]["initial"])}
    if any(revision["state"] == "applied" for revision in revisions):  # by an older Merrow, which did not count
        return None
    from merrow_runtime.revising.difference import is_task
    from merrow_runtime.workflow import restore

    try:
        initial = sum(map(is_task, restore(run.snapshot["workflow"]).graph.nodes))
    except (KeyError, TypeError, AttributeError, ValueError, UsageFailure):
        return None
    return {"initial": initial, "changed": [], "ratio": ratio_of(0, initial)}


def ratio_of(changed: float, initial: float) -> float | None:
    """The share of tasks that changed; None without tasks."""
    return changed / initial if initial else None


def updates_text(updates: Mapping[str, Any]) -> str:
    """The same in a line."""
    share = "" if updates["ratio"] is None else f" ({updates['ratio']:.0%})"
    named = f": {', '.join(updates['changed'])}" if updates["changed"] else ""
    return f"initial tasks {updates['initial']}, changed {len(updates['changed'])}{share}{named}"


def choice_text(diff: Mapping[str, Any]) -> str:
    """Which of several answers of a model a revision is, with the figures that it was chosen by; empty if there was one."""
    several = diff.get("candidates", ())
    chosen = next((answer for answer in several if answer.get("chosen")), None)
    if chosen is None or "parallelism" not in chosen:
        return ""
    figures = f"parallelism {chosen['parallelism']:.2f}, complexity {chosen['complexity']:.2f}"
    kept = "" if chosen.get("kept") is None else f", keeps {chosen['kept']}"
    return f"answer {chosen['candidate']} of {len(several)} ({figures}{kept})"


def _still_drawn(loops: Sequence[LoopRecord], snapshot: str) -> list[LoopRecord]:
    """The Loops that revisions have left; those of called files are as they were."""
    try:
        drawn = restore(json.loads(snapshot)).graph.composites.boxes
    except UsageFailure:  # This version can't read it any more.
        return list(loops)
    return [loop for loop in loops if is_called(loop.path) or loop.composite in drawn]


def run_report(store: Store, run: str, node: str | None = None) -> dict[str, Any]:
    """A run as a whole: its nodes with inputs, memory, outputs and every call, or only one of them. A node stands there as
    often as it was visited, by the name of each visit (``node`` may be one; of a node that ran in turns or items its id means the
    last visit). ``visits`` are all of the node that is asked for. ``episodes`` are those of the run, or of the node, which may
    be a Loop: see `episodes_of`. ``damaged`` has a sentence about each record of the run that can't be read, and is left out.

    Raises `UsageFailure` where there is no such run, `StoreFailure`.
    """
    record = store.run(run)
    calls: dict[str, list[CallRecord]] = {}
    damaged: list[str] = []
    nodes, loops = store.ended(record.id, damaged.append)
    ended = {node_record.visit.name: node_record for node_record in nodes}
    known = [] if node is None else _visits(node, ended)
    if known and node not in known:
        node = known[-1]
    for call in store.calls(record.id, node, damaged.append):
        if call.kind == "budget":
            continue  # No node's: that a Loop had used up what it may use.
        calls.setdefault(call.key.visit.name, []).append(call)
    # While a process works on the run, its calls without an end are on their way.
    under_way = store.is_worked_on(record.id)
    lost = [
        (name, step, "interrupted" if why == SENT else why)
        for name, step, why in store.lost(record.id)
        if node in (None, name) and not (under_way and why == SENT)
    ]
    visits = {name: own[0].key.visit for name, own in calls.items()} | {
        name: node_record.visit for name, node_record in ended.items()
    }
    revisions = [revision_object(revision) for revision in store.revisions(record.id)]
    if any(revision["state"] == "applied" for revision in revisions):
        loops = _still_drawn(loops, snapshot_at(store, record.id))
    bypassed = {name: revision["revision"] for revision in revisions for name in revision["diff"].get("bypassed", ())}
    return {
        **run_object(record),
        "inputs": dict(record.snapshot.get("inputs", {})),
        "outputs": record.outputs,
        "text": record.snapshot.get("workflow", {}).get("text"),
        "nodes": [
            {
                **_node(ended.get(name), name, ended, calls.get(name, []), record.parent),
                **(
                    {"bypassed": bypassed[own]}
                    if (own := visits[name].node if name in visits else name) in bypassed
                    else {}
                ),
                "id": own,
                "path": visits[name].path if name in visits else "",
                **({"steps": steps} if (steps := agent_steps(calls.get(name, []))) else {}),
                "calls": [_call(call) for call in calls.get(name, [])],
            }
            for name in dict.fromkeys([*ended, *calls, *(name for name, _, _ in lost)])
            if node in (None, name)
        ],
        **({"visits": known} if len(known) > 1 else {}),
        **({"episodes": episodes} if (episodes := episodes_of(ended, node)) else {}),
        "asks": [open_question(ask) for ask in store.asks(record.id) if ask.state == "asked"],
        "loops": [loop.to_json() for loop in loops],
        "exhausted": exhausted_of(loops),
        "revisions": revisions,
        "updates": updates_of(record, revisions),
        "lost": [{"node": name, "step": step, "why": why} for name, step, why in lost],
        "damaged": list(dict.fromkeys(damaged)),
    }


def _visits(node: str, ended: Mapping[str, NodeRecord]) -> list[str]:
    """The names of the visits of a node that have ended, in their order; ``node`` is its id or one of these names."""
    own = ended[node].visit.node if node in ended else node
    return [name for name, record in ended.items() if record.visit.node == own]


def _node(
    node: NodeRecord | None,
    name: str,
    ended: Mapping[str, NodeRecord],
    calls: Sequence[CallRecord],
    parent: str | None,
) -> dict[str, Any]:
    """``node`` is None for one that began a call and did not come to its end.

    ``model`` is the one that answered, by its own name; None where none did. ``why_no_call`` is None where there were calls,
    or where a node of its kind makes none.
    """
    sources = (
        node.sources
        if node is not None
        else dict.fromkeys(call.source for call in calls if call.kind in ("model", "person"))
    )
    answered = {
        "model": ", ".join(dict.fromkeys(source.model for source in sources if source.model)) or None,
        "sources": plain(sources),
        "answered_by": answered_by(sources),
    }
    if node is None:
        return {
            "node": name,
            # A reviser's calls are a visit that no node has: each was used as soon as it was there.
            "status": "finished" if calls and calls[0].key.node == REVISER else "unfinished",
            "outputs": None,
            "error": None,
            "inputs": None,
            "memory": [],
            **answered,
            "why_no_call": None,
        }
    why_no_call = None if calls else node.why_no_call
    if node.status == "reused":
        of = (
            f" of {node.taken}, as it was before a revision."
            if node.taken
            else f" from run {parent}."
            if parent
            else "."
        )
        why_no_call = f"Its result was reused{of}"
    return {
        "node": name,
        "status": node.status,
        "operator": (node.definition or {}).get("operator"),
        **answered,
        "why_no_call": why_no_call,
        "key": node.key,
        "inputs": {
            port: [given_value(reference, node, ended) for reference in references]
            for port, references in (node.inputs or {}).items()
        },
        "memory": list(node.memory),
        "outputs": node.outputs,
        "usage": node.usage.to_json(),
        "started": node.started,
        "seconds": max(0.0, node.ended - node.started),
        "error": node.error,
        **_failed(node),
        "case": node.case,
        "choice": node.label,
        **_validated(node),
        **({"masked": True} if node.masked else {}),
    }


def _failed(node: NodeRecord) -> dict[str, str]:
    """Why a node failed, for programs."""
    if node.failed is None:
        return {}
    return {"code": node.failed.code} | ({} if node.failed.remedy is None else {"remedy": node.failed.remedy})


def _validated(node: NodeRecord) -> dict[str, Any]:
    """Of a node whose result was validated the attempt that counts, whether it is valid, and what was said of each."""
    validation = node.validation
    if validation is None:
        return {}
    return {"attempt": validation["attempt"], "valid": validation["valid"], "attempts": list(validation["attempts"])}


def attempt_text(shown: Mapping[str, Any]) -> str:
    """What is said of a result that was validated, where that is any news: which attempt it is, and that it is not valid."""
    if "valid" not in shown:
        return ""
    if not shown["valid"]:
        return f"not valid, attempt {shown['attempt']}"
    return f"attempt {shown['attempt']}" if shown["attempt"] > 1 else ""


def judged_text(shown: Mapping[str, Any]) -> str:
    """Of a verdict that an attempt is not valid, that and why, on one line; empty for one that is."""
    if shown.get("valid"):
        return ""
    sample = f", sample {shown['sample'] + 1}" if "sample" in shown else ""
    why = "; ".join([*shown.get("reasons", ())]) or shown.get("feedback", "")
    return f"attempt {shown.get('attempt')}{sample} is not valid{f': {why}' if why else ''}"


def _call(call: CallRecord) -> dict[str, Any]:
    """``origin`` is ``offline`` for what the embedded model answered when it was asked; its request names no model, since
    the one that it was meant for did not get it.
    """
    request = dict(call.request)
    offline = call.endpoint == OFFLINE_ORIGIN
    if offline:
        request.pop("model", None)
    shown: dict[str, Any] = {
        "step": call.key.step,
        "sample": call.key.sample,
        "attempt": call.key.attempt,
        "kind": call.kind,
        "origin": "offline" if offline and call.origin == "endpoint" else call.origin,
        "endpoint": call.endpoint or None,
        "model": call.model or None,
        "usable": call.usable,
        "usage": call.usage.to_json(),
        "seconds": call.seconds,
        "request": request,
        "result": dict(call.result),
    }
    return shown


def workflow_text(workflow: str) -> str:
    """A workflow's place for people: from the current folder where it lies in it."""
    folder = os.getcwd() + os.sep  # noqa: PTH109 (compared as text)
    return workflow.removeprefix(folder)


def cost_text(usage: Mapping[str, Any]) -> str:
    """Money for people: an unknown price is said to be unknown, and an estimate to be one."""
    cost = usage.get("cost_usd")
    if cost is None:
        return "cost unknown"
    about = "about " if usage.get("estimated") else ""
    return f"{about}${cost:.4f}" if cost else "$0"
