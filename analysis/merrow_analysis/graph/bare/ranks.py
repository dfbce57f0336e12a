"""Ranks: numbers by which nodes are in the order of their first mention, so that a new node needs no new numbers of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def rank(ranks: list[float], handles: Mapping[str, int], order: Sequence[str], names: Sequence[str]) -> None:
    """Give the nodes ``names`` ranks between those of the nodes around them in the ``order`` of all; where there is no room left
    between two, all nodes get new ranks. ``ranks`` are by handle, and are changed.
    """
    waiting = set(names)
    last: float | None = None
    run: list[str] = []
    if len(waiting) == 1:
        # Most often one id is being typed.
        place = order.index(names[0])
        before = ranks[handles[order[place - 1]]] if place else None
        behind = ranks[handles[order[place + 1]]] if place + 1 < len(order) else None
        if _between(ranks, handles, before, behind, [order[place]]):
            return
    else:
        for name in (*order, None):
            if name in waiting:
                run.append(name)
                continue
            behind = None if name is None else ranks[handles[name]]
            if run and not _between(ranks, handles, last, behind, run):
                break
            run = []
            last = behind
        else:
            return
    for place, name in enumerate(order):
        ranks[handles[name]] = float(place)


def _between(
    ranks: list[float], handles: Mapping[str, int], before: float | None, behind: float | None, names: list[str]
) -> bool:
    """Spread nodes over the ranks between two; False where there are not enough numbers."""
    low = before if before is not None else (behind - 1 - len(names) if behind is not None else -1.0)
    high = behind if behind is not None else low + 1 + len(names)
    step = (high - low) / (len(names) + 1)
    previous = low
    for number, name in enumerate(names, 1):
        now = low + step * number
        if not previous < now < high:
            return False
        ranks[handles[name]] = previous = now
    return True
