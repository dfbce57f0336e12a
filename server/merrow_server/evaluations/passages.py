"""Whether the runs of an evaluation looked up the right passages, beside what their answers score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.errors import StoreFailure
from merrow_runtime.operators.retrieve import DOCUMENTS, Retrieve
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord
from merrow_server.evaluations.journals import jobs_of

FIELD = "passage"
"""The field of the data that names the right passage of an item: a document's source, its place, or `source, place`; or a list of
these, any of which is right.
"""
NAME = "passages"


def passages_named(plan: Plan) -> dict[str, Any]:
    """The right passages by item, as the plan in the journal has them; empty where the workflow looks nothing up, or the data
    names none.
    """
    nodes = (node for reached in plan.workflow.reached() for node in reached.graph.nodes)
    if not any(node.operator == Retrieve.name and node.spec is not None and node.spec.built_in for node in nodes):
        return {}
    named = {item.id: right for item in plan.items if (right := _named(item.inputs.get(FIELD)))}
    return {NAME: named} if named else {}


def passages_of(user: Store, record: EvaluationRecord, scores: Iterable[ScoreRecord]) -> dict[str, Any]:
    """How many answers could be looked at (``count``), and for how many the right passage was ``found``, as ``passages`` with the
    share as ``recall``. Empty where the data names none, or no journal of the runs is left.
    """
    named = record.plan.get(NAME)
    if not isinstance(named, dict):
        return {}
    asked = [(score.run, named[score.item]) for score in scores if score.run and score.item in named]
    known = _looked_up(user, {run for run, _ in asked})
    looked = [not known[run].isdisjoint(right) for run, right in asked if run in known]
    if not looked:
        return {}
    return {NAME: {"count": len(looked), "found": sum(looked), "recall": sum(looked) / len(looked)}}


def passages_text(passages: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    found, count = passages["found"], passages["count"]
    return f"The right passage was looked up for {found:,} of {count:,} answers (recall {passages['recall']:.3f})."


def _named(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [str(one).strip() for one in values if isinstance(one, (str, int)) and str(one).strip()]


def _looked_up(user: Store, runs: set[str]) -> dict[str, set[str]]:
    """What the documents are called that runs have looked up, as far as their journals are there and can be read."""
    names: dict[str, set[str]] = {}
    for evaluation in jobs_of(user, runs):
        with suppress(StoreFailure), user.looking_into(evaluation) as own:
            if own is None:
                continue
            for run in runs:
                found = [call.result.get(DOCUMENTS) for call in own.calls(run) if call.kind == "fact"]
                documents = [document for several in found if isinstance(several, list) for document in several]
                if found:
                    names.setdefault(run, set()).update(
                        name for document in documents if isinstance(document, dict) for name in _names(document)
                    )
    return names


def _names(document: Mapping[str, Any]) -> tuple[str, ...]:
    source, place = str(document.get("source", "")), str(document.get("place", ""))
    return source, place, f"{source}, {place}"
