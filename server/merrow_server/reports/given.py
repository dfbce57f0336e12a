"""What a node was given, which the journal keeps once: at the node that gave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.values import output_at
from merrow_runtime.visit import Visit


def given_value(reference: Mapping[str, Any], node: NodeRecord, ended: Mapping[str, NodeRecord]) -> dict[str, Any]:
    """Where an input of ``node`` came from, with its ``value``: that of the node that gave it, in the same frame where it doesn't
    say another. Without ``value`` where that is not in the journal. ``ended`` are the visits of the run by name.
    """
    giver = ended.get(Visit(reference["node"], reference.get("path", node.path)).name)
    if "value" in reference or giver is None or giver.outputs is None:
        return dict(reference)
    name = reference.get("output") or next(iter(giver.outputs), "")
    try:
        value = output_at(giver.outputs, name)
    except LookupError:
        value = None
    return {**reference, "value": value}
