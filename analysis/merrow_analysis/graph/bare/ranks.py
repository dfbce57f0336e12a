"""Ranks: numbers that sort nodes in the order of their first mention, with room between them for nodes that come later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def rank(ranks: list[float], handles: Mapping[str, int], order: Sequence[str], names: Sequence[str]) -> None:
    """Give each of the nodes ``names`` a rank between those of its neighbours in ``order``, which lists all nodes. Where there is
    no room left between two neighbours, all nodes get new ranks. ``ranks`` is indexed by handle and changed in place.
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
    """Spread the nodes evenly between two ranks; False where there are not enough numbers between them."""
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
