"""What an agent did, step by step, made of its calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from merrow_runtime.models.redaction import quoted
from merrow_runtime.operators.agents.offers import call_title, calls_title
from merrow_runtime.store.contract import CallRecord

_STEP = re.compile(r"step \d{1,9}(\.\d{1,9})?( permission)?")
_PERMISSION = " permission"
_REFUSALS = frozenset({"refuse", "stop"})


def agent_steps(calls: Sequence[CallRecord]) -> list[dict[str, Any]]:
    """The steps of an agent as its events have them; none of another node."""
    return list(_steps(calls))


def _steps(calls: Sequence[CallRecord]) -> Iterator[dict[str, Any]]:
    for call in calls:
        step, request, result = call.key.step, call.request, call.result
        if not _STEP.fullmatch(step) or not call.usable:
            continue
        told = {"step": step.removesuffix(_PERMISSION), "kind": call.kind, "error": None}
        if call.kind == "model":
            yield {**told, "title": calls_title([str(asked.get("name", "")) for asked in result.get("calls", ())])}
        elif call.kind == "tool":
            failed = quoted(str(result.get("text", ""))) or "it failed" if result.get("failed") else None
            title = call_title(str(request.get("tool", "")), request.get("arguments") or {})
            yield {**told, "title": title, "error": failed}
        elif call.kind == "person" and step.endswith(_PERMISSION):
            content = result.get("content") or {}
            if result.get("action") != "accept" or content.get("answer") in _REFUSALS:
                why = f"refused: {quoted(str(content['note']))}" if content.get("note") else "refused"
                yield {**told, "title": quoted(str(request.get("ask", ""))), "error": why}
        elif call.kind == "person":
            declined = None if result.get("action") == "accept" else "declined"
            yield {**told, "title": quoted(str(request.get("ask", ""))), "error": declined}
