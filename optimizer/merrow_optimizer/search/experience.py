"""What was tried from each candidate and what became of it, credited to the parents that a child really had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from merrow_optimizer.search.history import History


@dataclass(slots=True)
class ParentHistory:
    """A parent's score, and the changes that improved on it or didn't: the title and the score of each child by its number."""

    score: float
    success: dict[int, tuple[str, float]] = field(default_factory=dict)
    failure: dict[int, tuple[str, float]] = field(default_factory=dict)


def experience(history: History) -> dict[int, ParentHistory]:
    """The families of all scored parents with scored children. A child of two parents is in both of their families."""
    means = {number: history.mean(number) for number in history.scored()}
    families: dict[int, ParentHistory] = {}
    for number, score in means.items():
        draft = history.drafts[number]
        for parent in draft.parents:
            if parent in means:
                family = families.setdefault(parent, ParentHistory(means[parent]))
                (family.success if score > means[parent] else family.failure)[number] = (draft.title, score)
    return families


def favour(history: History, number: int, operators: Iterable[str]) -> dict[str, float]:
    """How often each operator improved a workflow on the way to this candidate and at it: (successes + 1) / (tries + 2)."""
    line, waiting = {number}, [number]
    while waiting:
        for parent in history.drafts[waiting.pop()].parents:
            if parent not in line:
                line.add(parent)
                waiting.append(parent)
    tried = {operator: [1, 2] for operator in operators}
    for parent, family in experience(history).items():
        if parent in line:
            for children, success in ((family.success, 1), (family.failure, 0)):
                for child in children:
                    counts = tried.get(history.drafts[child].kind or history.drafts[child].operator)
                    if counts is not None:
                        counts[0] += success
                        counts[1] += 1
    return {operator: good / all_of_them for operator, (good, all_of_them) in tried.items()}
