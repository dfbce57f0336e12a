"""What agents are told that ask a person, where it was said before the run: in evaluations, from the data."""

from __future__ import annotations

from merrow_runtime.options import RunOptions
from merrow_runtime.visit import Visit, read_segment


def told_of(options: RunOptions, visit: Visit) -> str | None:
    """What a visit is told whenever it asks a person; None where nothing was said. A node in a called file is named behind the
    Call, ``SOLVE/HELP``, as elsewhere, and in boxes without turns and items.
    """
    if not options.told:
        return None
    place = [*(read_segment(part)[0] for part in visit.path.split("/") if part), visit.node]
    for name, said in options.told.items():
        parts = name.split("/")
        if place[-len(parts) :] == parts:
            return said
    return None
