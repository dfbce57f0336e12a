"""Runs of the journal as plain data, the same for the command line and for editors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from merrow_runtime.store.contract import CallRecord, NodeRecord, RunRecord
from merrow_runtime.store.database import Store


def run_object(run: RunRecord) -> dict[str, Any]:
    """A run in a list: what it was about, how it ended, what it cost."""
    return {
        "run": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "started": run.started,
        "seconds": None if run.ended is None else max(0.0, run.ended - run.started),
        "usage": run.usage.to_json(),
        "error": run.error,
        "parent": run.parent,
    }


def run_report(store: Store, run: str, node: str | None = None) -> dict[str, Any]:
    """A run as a whole: its nodes with inputs, memory, outputs and every call, or only one of them.

    Raises `UsageFailure` where there is no such run, `StoreFailure`.
    """
    record = store.run(run)
    calls: dict[str, list[CallRecord]] = {}
    for call in store.calls(record.id, node):
        calls.setdefault(call.key.node, []).append(call)
    ended = {one.node: one for one in store.nodes(record.id)}
    return {
        **run_object(record),
        "inputs": dict(record.snapshot.get("inputs", {})),
        "outputs": record.outputs,
        "text": record.snapshot.get("workflow", {}).get("text"),
        "nodes": [
            {**_node(ended.get(name), name, ended), "calls": [_call(call) for call in calls.get(name, [])]}
            for name in dict.fromkeys([*ended, *calls])
            if node in (None, name)
        ],
        "lost": [
            {"node": name, "step": step, "why": why}
            for name, step, why in store.lost(record.id)
            if node in (None, name)
        ],
    }


def _node(node: NodeRecord | None, name: str, ended: Mapping[str, NodeRecord]) -> dict[str, Any]:
    """``node`` is None for one that had calls and did not come to its end."""
    if node is None:
        return {"node": name, "status": "unfinished", "outputs": None, "error": None, "inputs": None, "memory": []}
    return {
        "node": node.node,
        "status": node.status,
        "operator": (node.definition or {}).get("operator"),
        "model": (node.definition or {}).get("model"),
        "key": node.key,
        "inputs": {
            port: [_given(reference, ended) for reference in references]
            for port, references in (node.inputs or {}).items()
        },
        "memory": list(node.memory),
        "outputs": node.outputs,
        "usage": node.usage.to_json(),
        "started": node.started,
        "seconds": max(0.0, node.ended - node.started),
        "error": node.error,
        "case": node.case,
    }


def _given(reference: Mapping[str, Any], ended: Mapping[str, NodeRecord]) -> dict[str, Any]:
    """Where an input came from, with its value: the journal keeps it once, with the node that gave it."""
    giver = ended.get(reference["node"])
    if "value" in reference or giver is None or giver.outputs is None:
        return dict(reference)
    name = reference.get("output") or next(iter(giver.outputs), "")
    return {**reference, "value": giver.outputs.get(name)}


def _call(call: CallRecord) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "step": call.key.step,
        "sample": call.key.sample,
        "attempt": call.key.attempt,
        "kind": call.kind,
        "origin": call.origin,
        "usable": call.usable,
        "usage": call.usage.to_json(),
        "seconds": call.seconds,
        "request": dict(call.request),
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
