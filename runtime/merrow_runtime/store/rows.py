"""Records of the journal as rows of its tables, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord, NodeRecord, RunRecord
from merrow_runtime.usage import Usage

RUN_COLUMNS = "id, workflow, status, started, ended, snapshot, outputs, usage, error, parent"
CALL_COLUMNS = "node, sample, step, attempt, request_hash, kind, body, usage, usable, origin, started, seconds"
NODE_COLUMNS = "node, status, key, usage, started, ended, error, chosen, body"


def run_values(run: RunRecord) -> tuple[Any, ...]:
    """In the order of `RUN_COLUMNS`."""
    return (
        run.id,
        storable(run.workflow),
        run.status,
        run.started,
        run.ended,
        text_of(run.snapshot),
        _optional(run.outputs),
        usage_text(run.usage),
        storable(run.error),
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
        usage_of(usage),
        error,
        parent,
    )


def call_values(run: str, call: CallRecord, result: str) -> tuple[Any, ...]:
    """``run`` and what `CALL_COLUMNS` names; ``result`` is the call's as `text_of` gives it."""
    request = call.request_text
    if request is None or not request.isascii():  # it may hold what no database takes
        request = text_of(call.request)
    return (
        run,
        call.key.node,
        call.key.sample,
        call.key.step,
        call.key.attempt,
        call.request_hash,
        call.kind,
        f"[{request},{result}]",
        usage_text(call.usage),
        int(call.usable),
        call.origin,
        call.started,
        call.seconds,
    )


def call_of(row: Sequence[Any]) -> CallRecord:
    """A row of `CALL_COLUMNS`."""
    node, sample, step, attempt, request_hash, kind, body, usage, usable, origin, started, seconds = row
    request, result = json.loads(body)
    return CallRecord(
        CallKey(node, sample, step, attempt),
        kind,
        request_hash,
        request,
        result,
        usage_of(usage),
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
        usage_text(node.usage),
        node.started,
        node.ended,
        storable(node.error),
        node.case,
        text_of((node.outputs, node.definition, node.inputs, node.memory)),
    )


def node_of(row: Sequence[Any]) -> NodeRecord:
    """A row of `NODE_COLUMNS`."""
    node, status, key, usage, started, ended, error, chosen, body = row
    outputs, definition, inputs, memory = json.loads(body)
    return NodeRecord(
        node,
        status,
        key,
        outputs,
        usage_of(usage),
        started,
        ended,
        error,
        chosen,
        definition,
        inputs,
        tuple(memory),
    )


def storable(text: str | None) -> str | None:
    """A text for a column of its own: half characters (of a model's answer, of a file's name) become visible escapes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def usage_text(usage: Usage) -> str:
    """Usage as a column: two rows are written for each node, and this takes a tenth of the time of the object's JSON."""
    cost = "null" if usage.cost_usd is None else repr(usage.cost_usd)
    return f"[{usage.prompt_tokens},{usage.completion_tokens},{usage.calls},{cost},{int(usage.estimated)}]"


def usage_of(text: str) -> Usage:
    """The inverse of `usage_text`."""
    prompt, completion, calls, cost, estimated = json.loads(text)
    return Usage(prompt, completion, calls, cost, bool(estimated))


# Keys keep their order, which is that of ports. Escapes keep what no database takes: lone surrogates.
text_of = json.JSONEncoder(separators=(",", ":")).encode


def _optional(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else text_of(value)


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)
