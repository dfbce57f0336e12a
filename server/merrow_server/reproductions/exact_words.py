"""A paper's arithmetic in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_optimizer.reproducing.exact import Check
from merrow_server.evaluations.tables import Style, bare
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible


def exact_lines(checks: Sequence[Check], style: Style = bare) -> Iterator[str]:
    """Each figure with what it comes to, then where the paper contradicts them."""
    for one in checks:
        if one.is_right is None:
            yield f"  {style('-', fg='yellow')} {visible(one.name)} ({one.source}): {visible(one.says)}"
            continue
        mark = style("ok", fg="green") if one.is_right else style("WRONG", fg="red", bold=True)
        wanted = "" if one.is_right else f", expected {one.expected}"
        more = f"; {one.says}" if one.says and not one.contradicts else ""
        yield f"  {mark} {visible(one.name)} ({one.source}): {visible(str(one.computed))}{wanted}{visible(more)}"
    contradictions = [one for one in checks if one.contradicts]
    if contradictions:
        yield ""
        yield style("Where the paper contradicts its own figures:", bold=True)
        for one in contradictions:
            says = f" {one.says}" if one.says else ""
            yield f"  {visible(one.name)} ({one.source}): {one.computed} by its figures, printed as {one.paper}.{visible(says)}"
    yield ""
    right, wrong = (sum(one.is_right is value for one in checks) for value in (True, False))
    left = f", {len(checks) - right - wrong} not checked" if right + wrong < len(checks) else ""
    yield (
        f"{counted(right, 'figure')} as expected, {wrong} wrong{left};"
        f" {counted(len(contradictions), 'contradiction')} in the paper."
    )
