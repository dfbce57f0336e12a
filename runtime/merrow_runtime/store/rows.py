"""Records of the journal as rows of its tables, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord, NodeRecord, RunRecord
from merrow_runtime.usage import Usage

RUN_COLUMNS = "id, workflow, status, started, ended, snapshot, outputs, usage, error, parent"
CALL_COLUMNS = (
    "node, sample, step, attempt, request_hash, kind, request, result, usage, usable, origin, started, seconds"
)
NODE_COLUMNS = "node, status, key, outputs, usage, started, ended, error, chosen, definition, inputs, memory"


def run_values(run: RunRecord) -> tuple[Any, ...]:
    """In the order of `RUN_COLUMNS`."""
    return (
        run.id,
        run.workflow,
        run.status,
        run.started,
        run.ended,
        _text(run.snapshot),
        _optional(run.outputs),
        _text(run.usage.to_json()),
        run.error,
        run.parent,
    )


def run_of(row: Sequence[Any]) -> RunRecord:
    """The inverse of `run_values`."""
    identity, workflow, status, started, ended, snapshot, outputs, usage, error, parent = row
    return RunRecord(
        identity,
        workflow,
        status,
        started,
        ended,
        json.loads(snapshot),
        _read(outputs),
        Usage.from_json(json.loads(usage)),
        error,
        parent,
    )


def call_values(run: str, call: CallRecord) -> tuple[Any, ...]:
    """``run`` and what `CALL_COLUMNS` names."""
    return (
        run,
        call.key.node,
        call.key.sample,
        call.key.step,
        call.key.attempt,
        call.request_hash,
        call.kind,
        _text(call.request),
        _text(call.result),
        _text(call.usage.to_json()),
        int(call.usable),
        call.origin,
        call.started,
        call.seconds,
    )


def call_of(row: Sequence[Any]) -> CallRecord:
    """A row of `CALL_COLUMNS`."""
    node, sample, step, attempt, request_hash, kind, request, result, usage, usable, origin, started, seconds = row
    return CallRecord(
        CallKey(node, sample, step, attempt),
        kind,
        request_hash,
        json.loads(request),
        json.loads(result),
        Usage.from_json(json.loads(usage)),
        bool(usable),
        origin,
        started,
        seconds,
    )


def node_values(run: str, node: NodeRecord) -> tuple[Any, ...]:
    """``run`` and what `NODE_COLUMNS` names."""
    return (
        run,
        node.node,
        node.status,
        node.key,
        _optional(node.outputs),
        _text(node.usage.to_json()),
        node.started,
        node.ended,
        node.error,
        node.case,
        _optional(node.definition),
        _optional(node.inputs),
        _text(list(node.memory)),
    )


def node_of(row: Sequence[Any]) -> NodeRecord:
    """A row of `NODE_COLUMNS`."""
    node, status, key, outputs, usage, started, ended, error, chosen, definition, inputs, memory = row
    return NodeRecord(
        node,
        status,
        key,
        _read(outputs),
        Usage.from_json(json.loads(usage)),
        started,
        ended,
        error,
        chosen,
        _read(definition),
        _read(inputs),
        tuple(json.loads(memory)),
    )


def _text(value: object) -> str:
    # Keys keep their order, which is that of ports; a lone surrogate, which no database takes, is escaped.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if _is_clean(text) else json.dumps(value, separators=(",", ":"))


def _is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _optional(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else _text(value)


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)
