"""The figures of a graph as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from merrow_server.rendering.snippet import cells, visible

if TYPE_CHECKING:
    from merrow_analysis.graph.measures.measures import Measures
    from merrow_analysis.graph.measures.metrics import Metrics
    from merrow_analysis.graph.measures.simulation import Simulation

_LONGEST_PATH = 6


def metrics_table(metrics: Metrics, simulated: Simulation | None = None) -> Iterator[str]:
    """The figures as lines of text."""
    columns = [
        (title, part) for title, part in (("subtasks", metrics.workflow), ("whole graph", metrics.graph)) if part
    ]
    rows = [("", [title for title, _ in columns])]
    figures = [_figures(part) for _, part in columns]
    rows += [(name, [column[name] for column in figures]) for name in figures[0]]
    yield from _aligned(rows)
    if simulated is not None:
        interval = f"95 % interval {_number(simulated.low)} to {_number(simulated.high)}"
        yield f"\nexpected completed, simulated: {_number(simulated.mean)} ({interval}, {simulated.runs:,} runs)"
    if metrics.calls is not None:
        least, most = metrics.calls.least, metrics.calls.most
        most_said = "or more" if most is None else f"to {most}"
        yield f"\ncalls: {least}" if least == most else f"\ncalls: {least} {most_said}"
    if metrics.promises:
        yield f"\n{metrics.promises} of the types are promises of the author (returns:)."
    for title, part in columns:
        if part.critical_path is not None:
            yield f"\ncritical path ({title}): {_path(part.critical_path)}"
        if part.undefined is not None:
            yield f"\n{title}: {part.undefined}"


def _figures(part: Measures) -> dict[str, str]:
    return {
        "nodes": str(part.nodes),
        "edges": str(part.edges),
        "depth": _number(part.depth),
        "width": _number(part.width),
        "largest antichain": _number(part.max_antichain),
        "parallelism P_avg": _number(part.p_avg),
        "dependency complexity C_dependency": _number(part.c_dependency),
        "edges beyond the transitive reduction": _number(
            None if part.transitive_edges is None else len(part.transitive_edges)
        ),
        "expected completed, product formula": _number(part.expected_product),
        "expected completed, exactly": _number(part.expected_exact),
    }


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _path(ids: Sequence[str]) -> str:
    shown = [visible(word) for word in ids]
    if len(shown) > _LONGEST_PATH:
        shown = [*shown[:3], f"({len(shown) - 5} more)", *shown[-2:]]
    return " -> ".join(shown)


def _aligned(rows: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    first = max(cells(name) for name, _ in rows)
    widths = [max(cells(values[column]) for _, values in rows) for column in range(len(rows[0][1]))]
    for name, values in rows:
        padded = "  ".join(value.rjust(width) for value, width in zip(values, widths, strict=True))
        yield f"{name.ljust(first)}  {padded}"
