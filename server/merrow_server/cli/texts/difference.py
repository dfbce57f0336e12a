"""What a run keeps when its workflow becomes another one, in lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import style

if TYPE_CHECKING:
    from merrow_runtime.revising.difference import RevisionDifference


def difference_lines(revision_difference: RevisionDifference) -> Iterator[str]:
    """What differs, a line for each kind of it."""
    if revision_difference.refused:
        for sentence in revision_difference.refused:
            yield f"{style('refused', fg='red')}  {visible(sentence)}"
        return
    if revision_difference.is_empty:
        yield "Nothing differs that a run would notice."
    renamed = [f"{new} (was {old})" for new, old in revision_difference.renamed.items()]
    for word, colour, names in (
        ("kept", "green", revision_difference.kept),
        ("reset", "yellow", revision_difference.reset),
        ("added", "cyan", revision_difference.added),
        ("removed", "red", revision_difference.removed),
        ("changed", "yellow", revision_difference.changed),
        ("renamed", "blue", renamed),
        ("redone", "yellow", revision_difference.redone),
    ):
        if names:
            yield f"{style(f'{word:8}', fg=colour)} {visible(', '.join(names))}"
