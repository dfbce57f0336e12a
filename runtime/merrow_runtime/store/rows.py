"""Records of the journal as rows of its tables, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord, NodeRecord, RunRecord
from merrow_runtime.usage import Usage
from merrow_runtime.values import number_text

RUN_COLUMNS = "id, workflow, status, started, ended, snapshot, outputs, usage, error, parent"
_MICROSECONDS = 1e6
"""Of a second: whole ones are written and read in a sixth of the time of a fraction."""

CALL_COLUMNS = (
    "node, sample, step, attempt, request_hash, kind, request, result, usage, usable, origin, started, seconds"
)


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


def call_values(run: int, call: CallRecord) -> tuple[Any, ...]:
    """``run`` and what `CALL_COLUMNS` names."""
    key = call.key
    return (
        run,
        key.node,
        key.sample,
        key.step,
        key.attempt,
        call.request_hash,
        call.kind,
        call.request_text,
        call.result_text,
        usage_text(call.usage),
        call.usable,
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
        request,
        result,
        usage_of(usage),
        bool(usable),
        origin,
        started,
        seconds,
    )


def nodes_text(nodes: Iterable[NodeRecord]) -> str:
    """Nodes without their definitions, which are kept once for the run."""
    return text_of(
        [
            (
                node.node,
                node.status,
                node.key,
                node.outputs,
                _usage_values(node.usage),
                int(node.started * _MICROSECONDS),
                int(node.ended * _MICROSECONDS),
                node.error,
                node.case,
                node.inputs,
                node.memory,
            )
            for node in nodes
        ]
    )


def nodes_of(several: str, definitions: Mapping[str, Any]) -> list[NodeRecord]:
    """The inverse of `nodes_text`; ``definitions`` are those of the run by node."""
    return [
        NodeRecord(
            node,
            status,
            key,
            outputs,
            Usage(*usage),
            started / _MICROSECONDS,
            ended / _MICROSECONDS,
            error,
            chosen,
            None if status == "skipped" else definitions.get(node),
            inputs,
            tuple(memory),
        )
        for node, status, key, outputs, usage, started, ended, error, chosen, inputs, memory in json.loads(several)
    ]


def storable(text: str | None) -> str | None:
    """A text for a column of its own: half characters (of a model's answer, of a file's name) become visible escapes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable_json(text: str) -> str:
    """JSON for a column of its own: the same where it can be stored, else with escapes in place of half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text_of(json.loads(text))
    return text


def _usage_values(usage: Usage) -> tuple[Any, ...]:
    return usage.prompt_tokens, usage.completion_tokens, usage.calls, usage.cost_usd, usage.estimated


def usage_text(usage: Usage) -> str:
    """Usage as a column: this takes a tenth of the time of the object's JSON."""
    cost = "null" if usage.cost_usd is None else number_text(usage.cost_usd)
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
