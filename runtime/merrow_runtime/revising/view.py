"""How a run stands, as a reviser is shown it: plain data, within so many tokens."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.graph.instructions import agent_of, prompt_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.models.tokens import BYTES_A_TOKEN, estimate_tokens
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.values import Value, as_text
from merrow_runtime.workflow import Workflow

_A_NODE = 60
"""Characters that the form of an entry takes, beside what it says."""

_CUT = "…"

_TRIES = 6
"""How often less is shown until all of it has room: what JSON makes of a text is only known once it is made."""


def view_of(
    workflow: Workflow,
    inputs: Mapping[str, Value],
    standing: Mapping[str, str],
    records: Mapping[str, NodeRecord],
    new: Collection[str],
    trigger: str,
    tokens: int,
) -> dict[str, Any]:
    """What a reviser is shown. ``standing`` says how each node stands and ``records`` how those ended that did, by id;
    ``new`` are the ones that ended since the last revision. Texts are cut so that all of it has at most so many
    ``tokens``: of the results those of failed and new nodes are shown first.
    """
    room = tokens
    for _ in range(_TRIES):
        view = _view(workflow, inputs, standing, records, new, trigger, room)
        size = estimate_tokens(json.dumps(view, ensure_ascii=False))
        if size <= tokens:
            break
        room = max(1, int(room * tokens / size * 0.95))
    return view


def _view(
    workflow: Workflow,
    inputs: Mapping[str, Value],
    standing: Mapping[str, str],
    records: Mapping[str, NodeRecord],
    new: Collection[str],
    trigger: str,
    tokens: int,
) -> dict[str, Any]:
    graph = workflow.graph
    nodes = [node for node in (graph.node(handle) for handle in graph.order) if node.kind in ("operator", "decision")]
    entries = [_entry(workflow, node, standing.get(node.id, "waiting"), records.get(node.id)) for node in nodes]
    view: dict[str, Any] = {
        "trigger": trigger,
        "task": {name: as_text(value) for name, value in inputs.items()},
        "agents": {agent.name: agent.role for agent in workflow.analysis.settings.agents.values()},
        "nodes": entries,
    }
    left = tokens * BYTES_A_TOKEN - sum(_size(entry) for entry in entries) - _A_NODE
    left -= sum(len(name) + len(role) + 6 for name, role in view["agents"].items())
    left = _share(view["task"], view["task"], max(0, left // 4), left)
    objectives = [(entry, "objective") for entry in entries if "objective" in entry]
    left = _cut(objectives, max(0, left // 2), left)
    _cut([(entry, "error") for entry in entries if "error" in entry], max(0, left // 4), left)
    first = [entry for entry in entries if entry["id"] in new or entry["status"] == "failed"]
    results = [
        (entry, "result")
        for entry in (*first, *(entry for entry in entries if entry not in first))
        if "result" in entry
    ]
    before = sum(entry in first for entry, _ in results)
    left = _cut(results[:before], max(0, left * 2 // 3), left)
    _cut(results[before:], max(0, left), left)
    return view


def _entry(workflow: Workflow, node: TypedNode, standing: str, record: NodeRecord | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node.id, "operator": node.operator or "", "status": standing}
    prompt = prompt_of(node, workflow.analysis.prompts)
    text = prompt.text if isinstance(prompt, Prompt) else prompt
    if text:
        entry["objective"] = str(text)
    agent = agent_of(node, workflow.analysis.settings) if node.kind == "operator" else None
    if agent is not None:
        entry["agent"] = agent.name
    entry["after"] = list(dict.fromkeys(edge.source.id for edge in (*node.incoming, *node.again_in)))
    locked = node.resolution.parameters.get("locked")
    if locked is not None and locked.value is True:
        entry["locked"] = True
    if record is not None and record.error:
        entry["error"] = record.error
    if record is not None and record.label is not None:
        entry["chose"] = record.label
    elif record is not None and record.outputs:
        entry["result"] = as_text(next(iter(record.outputs.values())))
    return entry


def _size(entry: Mapping[str, Any]) -> int:
    """What an entry takes without its texts."""
    return _A_NODE + len(entry["id"]) + len(entry["operator"]) + sum(len(name) + 4 for name in entry["after"])


def _share(texts: dict[str, str], places: Iterable[str], room: int, left: int) -> int:
    return _cut([(texts, name) for name in list(places)], room, left)


def _cut(places: list[tuple[dict[str, Any], str]], room: int, left: int) -> int:
    """Cut texts so that all of them have ``room``, the first ones before the others; what is left of ``left`` then."""
    for number, (entry, key) in enumerate(places):
        text = entry[key]
        most = room // (len(places) - number)
        # As JSON a text takes more than its characters, and no prefix of it more than six times as much.
        short = text[: max(0, most)]
        while len(short.encode("utf-8", "surrogatepass")) + short.count("\n") + short.count('"') > most and short:
            short = short[: int(len(short) * 0.8)]
        if len(short) < len(text):
            entry[key] = short[:-1] + _CUT if short else ""
        used = len(entry[key].encode("utf-8", "surrogatepass")) + entry[key].count("\n") + entry[key].count('"')
        room -= used
        left -= used
    return left
