"""A diagram with the nodes that it had before and that are gone, for a picture of both."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.flow import FlowNode


def with_ghosts(
    text: str, now: Analysis, earlier: Iterable[Analysis], kept: Iterable[str] = ()
) -> tuple[str, list[str]]:
    """A diagram's text with the nodes of earlier ones (the newest last) that it no longer has, joined as they were, and
    their ids. The nodes ``kept`` are not gone: they have other names now. The diagram alone where they can't be added to it.
    """
    here, renamed = now.flow.nodes, set(kept)
    gone: dict[str, FlowNode] = {}
    for before in earlier:
        gone |= {name: node for name, node in before.flow.nodes.items() if name not in here and name not in renamed}
    if not gone:
        return text, []
    lines = [_declared(node) for node in gone.values()]
    lines += dict.fromkeys(
        f"    {edge.source.id} -.-> {edge.target.id}"
        for node in gone.values()
        for edge in (*node.incoming, *node.outgoing)
        if all(end.id in here or end.id in gone for end in (edge.source, edge.target))
    )
    drawn = "".join((text, "" if text.endswith("\n") else "\n", *(f"{line}\n" for line in lines)))
    return (drawn, list(gone)) if _is_read(drawn, {*here, *gone}) else (text, [])


def _declared(node: FlowNode) -> str:
    if node.label is None:
        return f"    {node.id}"
    shown = node.label.text.replace('"', "#quot;")
    return f'    {node.id}["{shown}"]'


def _is_read(text: str, names: set[str]) -> bool:
    """Whether a text is read as a diagram with these nodes."""
    analysis = analyse(text)
    return set(analysis.flow.nodes) == names and not analysis.refusals
