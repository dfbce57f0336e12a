"""Records for tests of the journal."""

from __future__ import annotations

import json
import time

from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord, NodeRecord, RunRecord
from merrow_runtime.usage import Usage

PAID = Usage(10, 5, 1, 0.001)


def run(identity: str = "run-1", **changes: object) -> RunRecord:
    fields: dict[str, object] = {
        "workflow": "a.mmd",
        "status": "running",
        "started": time.time(),
        "snapshot": {"text": "x"},
    }
    return RunRecord(identity, **{**fields, **changes})  # type: ignore[arg-type]


def call(
    node: str = "SOLVE", number: int = 0, text: str = "42", path: str = "", redo: int = 0, **changes: object
) -> CallRecord:
    fields: dict[str, object] = {"usage": PAID}
    return CallRecord(
        CallKey(node, 0, f"answer {number}", 0, path, redo),
        "model",
        f"hash {number}",
        json.dumps({"messages": [{"role": "user", "content": "6 * 7?"}]}),
        json.dumps({"text": text}),
        **{**fields, **changes},  # type: ignore[arg-type]
    )


def node(name: str = "SOLVE", **changes: object) -> NodeRecord:
    fields: dict[str, object] = {
        "status": "finished",
        "key": "k",
        "outputs": {"response": "42"},
        "memory": ({"node": "A"},),
    }
    return NodeRecord(name, **{**fields, **changes})  # type: ignore[arg-type]
