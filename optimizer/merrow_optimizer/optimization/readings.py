"""Who has read which items of a data set, by the names of its parts. It loads nothing of a search."""

from __future__ import annotations

from merrow_runtime.store.database import Store

ASIDE = "aside"
"""The part of the items that is held out where the data has no such part: a third of them, the same in each search."""


def read_before(user: Store, dataset: str, searched: str, part: str, start: str, but: str = "") -> int:
    """How often the held-out ``part`` of the data with this hash was read, but by the search ``but``, which searches the part
    ``searched``. Where it is set aside by searches alone, an evaluation of the start, by its semantic hash, has read it, but
    chose nothing with it.
    """
    if part != ASIDE:
        return user.evaluations.readings(dataset, parts_with(part), but=but)
    return user.evaluations.readings(dataset, [part, searched, "all"], but=but, of_others=start)


def searched_part(part: str, held_out: str | None) -> str:
    """What a search of this ``part`` of the data reads of it: all of it, but what it sets aside for the end."""
    return f"{part} but {ASIDE}" if held_out == ASIDE else part


def parts_with(part: str) -> list[str]:
    """The names under which items of this part of the data may have been read."""
    return [part, "all", searched_part("all", ASIDE)]
