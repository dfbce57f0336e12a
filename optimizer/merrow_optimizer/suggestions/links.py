"""All the edges that a workflow is to have, put in the places of those that it has: what stays is not touched."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from merrow_analysis.edits.change import WantedEdge, as_it_is, label_of
from merrow_analysis.graph.flow import Flowchart


def links_in_place(
    flow: Flowchart, wanted: Iterable[WantedEdge], gone: Collection[str]
) -> dict[int, tuple[WantedEdge, ...]]:
    """What stands in the place of each edge, by its index, so that a flowchart has the edges ``wanted``, those into a node
    in their order; edges that stay are left out. ``gone`` are the nodes that are removed.
    """
    have = [edge for edge in flow.edges if not edge.record.carries_nothing]
    there = [WantedEdge(edge.source.id, edge.target.id, label_of(edge)) for edge in have]
    want: dict[str, list[WantedEdge]] = {}
    for link in wanted:
        want.setdefault(link.target, []).append(link)
    put: dict[int, list[WantedEdge]] = {}
    for target in dict.fromkeys(link.target for link in there):
        own = [number for number, link in enumerate(there) if link.target == target]
        _place(want.pop(target, []), own, there, put)
    for links in reversed(want.values()):
        at = _anchor(links[0], there)
        beside = put.setdefault(at, [there[at]])
        first = int(beside[:1] == [there[at]])
        beside[first:first] = links
    _move_out(flow, there, put)
    placed = {
        have[number].index: tuple(as_it_is(have[number]) if link is there[number] else link for link in links)
        for number, links in put.items()
        if links != [there[number]]
    }
    for edge in flow.edges:
        if edge.record.carries_nothing and (edge.source.id in gone or edge.target.id in gone):
            placed[edge.index] = ()
    return placed


def _place(want: list[WantedEdge], own: list[int], there: list[WantedEdge], put: dict[int, list[WantedEdge]]) -> None:
    """Put the edges that one node wants, in order: those that it has stay where they can, others come beside them.

    ``own`` are the numbers of the edges that it has; ``put`` gets what takes the place of each.
    """
    matched: list[int | None] = []
    left = list(own)
    for exactly in (True, False):
        for place, link in enumerate(want):
            if len(matched) <= place:
                matched.append(None)
            if matched[place] is None:
                same = (
                    other
                    for other in left
                    if (there[other] if exactly else there[other][:2]) == (link if exactly else link[:2])
                )
                matched[place] = next(same, None)
                if (number := matched[place]) is not None:
                    left.remove(number)
    staying = _longest_rise([number for number in matched if number is not None])
    for number in own:
        put.setdefault(number, [])
    last: int | None = None
    waiting: list[WantedEdge] = []
    for link, number in zip(want, matched, strict=True):
        if number is not None and number in staying:
            kept = there[number] if there[number] == link else link._replace(kept=True)
            put[number] = [*waiting, *put[number], kept]
            waiting, last = [], number
        elif last is None:
            waiting.append(link)
        else:
            put[last].append(link)
    put[own[-1]].extend(waiting)


def _move_out(flow: Flowchart, there: list[WantedEdge], put: dict[int, list[WantedEdge]]) -> None:
    """Have edges into a subgraph or out of it written outside, where another one like that is: what stands inside of a subgraph
    makes its nodes the subgraph's own.
    """
    outer_first = sorted(flow.subgraphs.items(), key=lambda item: -len(item[1].nodes))
    boxes = {name: box for box, subgraph in outer_first for name in subgraph.nodes}
    if not boxes:
        return
    crossed = [{boxes.get(old.source), boxes.get(old.target)} for old in there]
    for number, links in list(put.items()):
        for link in list(links):
            ends = {boxes.get(link.source), boxes.get(link.target)}
            if link == there[number] or not {link.source, link.target} <= flow.nodes.keys():
                continue
            if len(ends) == 2 and len(crossed[number]) == 1 and ends in crossed:
                links.remove(link)
                at = crossed.index(ends)
                put.setdefault(at, [there[at]]).append(link._replace(kept=False))


def _longest_rise(numbers: list[int]) -> set[int]:
    """The most of some different numbers that come in rising order."""
    best: list[list[int]] = []
    for number in numbers:
        best.append([*_longest(run for run in best if run[-1] < number), number])
    return set(_longest(best))


def _longest(runs: Iterable[list[int]]) -> list[int]:
    longest: list[int] = []
    for run in runs:
        longest = run if len(run) > len(longest) else longest
    return longest


def _anchor(link: WantedEdge, there: list[WantedEdge]) -> int:
    """The number of the edge after which one is written whose target has none: the last one from its source, else of all."""
    return max((number for number, other in enumerate(there) if other.source == link.source), default=len(there) - 1)
