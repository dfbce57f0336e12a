"""Select: the items with the highest numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.shapes import shown
from merrow_runtime.operators.questions import Computation
from merrow_runtime.values import Outputs, Value, part_of


class Select(Computation):
    """Orders its items by their numbers, or by the field that ``by`` names: the best first, the earlier of equals. Outputs the
    first ``keep`` of them, the best, and its number. It asks nothing.
    """

    name: ClassVar[str] = "Select"
    version: ClassVar[int] = 1

    def compute(self, task: Task) -> Outputs:
        items = list(_flat(given.value for given in task.inputs.get("items", ())))
        if not items:
            raise NodeFailure.of(task.node.id, "there is nothing to select from: its list is empty.")
        by, keep = task.node.parameters.get("by"), task.node.parameters.get("keep")
        numbers = [_number(task, item, str(by).strip() if by is not None else None) for item in items]
        order = sorted(range(len(items)), key=numbers.__getitem__, reverse=True)  # It keeps the order of equals.
        count = int(keep) if isinstance(keep, (int, float)) else 1
        best = order[0]
        return {"selected": [items[place] for place in order[:count]], "best": items[best], "score": numbers[best]}


def _flat(values: Iterable[Value]) -> Iterator[Value]:
    """The items of lists, and of lists in lists."""
    waiting = [iter(values)]
    while waiting:
        for value in waiting[-1]:
            if isinstance(value, list):
                waiting.append(iter(value))
                break
            yield value
        else:
            waiting.pop()


def _number(task: Task, item: Value, by: str | None) -> int | float:
    try:
        number = item if by is None else part_of(item, by.split("."))
    except LookupError:
        number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        what = f"{shown(item)} is not a number" if by is None else f"{shown(item)} has no number in its field `{by}`"
        raise NodeFailure.of(task.node.id, f"{what}, so it can't be compared with the others.")
    return number
