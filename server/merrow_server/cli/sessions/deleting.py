"""Evaluations, searches and extractions are deleted from the journal: those that are named, and those that are old."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from merrow_server.rendering.terminal import echo

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listed import Listed


def take_out(user: Store, kept: Listed[Any], named: Iterable[str], days: float | None) -> None:
    """Delete what is ``named``, and what began more than ``days`` ago but for what a process works on, and say how many those
    were.
    """
    from merrow_runtime.jobs.life import delete, is_open

    for one in named:
        delete(user, kept, one)
    if days is None:
        return
    old = [one for one in kept.older_than(days * 86_400) if not is_open(user, one)]
    for identity in old:
        delete(user, kept, identity)
    echo(f"1 {kept.word} was deleted." if len(old) == 1 else f"{len(old)} {kept.words} were deleted.", err=True)
