"""What a run keeps when its workflow becomes another one, in lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import style

if TYPE_CHECKING:
    from merrow_runtime.revising.difference import RevisionDifference


def difference_lines(found: RevisionDifference) -> Iterator[str]:
    """What differs, a line for each kind of it."""
    if found.refused:
        for sentence in found.refused:
            yield f"{style('refused', fg='red')}  {visible(sentence)}"
        return
    if found.is_empty:
        yield "Nothing differs that a run would notice."
    renamed = [f"{new} (was {old})" for new, old in found.renamed.items()]
    for word, colour, names in (
        ("kept", "green", found.kept),
        ("reset", "yellow", found.reset),
        ("added", "cyan", found.added),
        ("removed", "red", found.removed),
        ("changed", "yellow", found.changed),
        ("renamed", "blue", renamed),
        ("redone", "yellow", found.redone),
    ):
        if names:
            yield f"{style(f'{word:8}', fg=colour)} {visible(', '.join(names))}"
