"""Two runs of the journal side by side, node by node."""

from __future__ import annotations

from typing import Any

from merrow_runtime.store.database import Store
from merrow_server.reports.run_report import run_object, run_report

_SHOWN = ("status", "operator", "model", "outputs", "usage", "seconds", "error", "case")


def compare_runs(store: Store, first: str, second: str) -> dict[str, Any]:
    """The two runs as `run_object` has them, and each node of either: what it was in both, and what is equal.

    ``outputs`` and ``key`` under ``equal`` are None for a node that one of them doesn't have. Raises `UsageFailure`.
    """
    reports = [run_report(store, run) for run in (first, second)]
    ended = [{node["node"]: node for node in report["nodes"]} for report in reports]
    return {
        "a": run_object(store.run(first)),
        "b": run_object(store.run(second)),
        "textEqual": _texts(store, first) == _texts(store, second),
        "inputsEqual": reports[0]["inputs"] == reports[1]["inputs"],
        "nodes": [
            _compared(name, ended[0].get(name), ended[1].get(name)) for name in dict.fromkeys([*ended[0], *ended[1]])
        ],
    }


def _texts(store: Store, run: str) -> Any:
    return store.run(run).snapshot.get("workflow", {}).get("text")


def _compared(name: str, first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any]:
    equal: dict[str, bool | None] = {"status": False, "outputs": None, "key": None}
    if first is not None and second is not None:
        equal = {key: first.get(key) == second.get(key) for key in equal}
    return {"node": name, "a": _part(first), "b": _part(second), "equal": equal}


def _part(node: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if node is None else {key: node.get(key) for key in _SHOWN} | {"calls": len(node["calls"])}
