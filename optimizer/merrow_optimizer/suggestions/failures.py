"""Items that a workflow got wrong, as a model is shown them."""

from __future__ import annotations

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.suggestions.prompt import FailedItem
from merrow_runtime.store.evaluations import ScoreRecord, output_of
from merrow_runtime.values import as_text


def failure_of(item: Item, score: ScoreRecord) -> FailedItem | None:
    """What to show of an answer to an item; None where it was not wrong."""
    if score.status not in (Status.WRONG, Status.FAILED):
        return None
    output = "" if score.output is None else as_text(output_of(score.output))
    gold = "" if item.gold is None else as_text(item.gold)
    return FailedItem(as_text(dict(item.inputs)), gold, output, score.read or score.reason or "")
