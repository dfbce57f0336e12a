"""The largest set of nodes none of which waits for another: how many could run at once at most.

By Dilworth's theorem its size is the number of nodes less a maximum matching of nodes to nodes that they precede. The
matching is found as Hopcroft and Karp (1973) do, with sets of nodes as the bits of integers.
"""

from __future__ import annotations

from collections.abc import Sequence

_FREE = -1


def largest_antichain(related: Sequence[int]) -> int:
    """The size of a largest antichain. Bit ``v`` of ``related[u]`` says that a path leads from ``v`` to ``u``."""
    below, above = [_FREE] * len(related), [_FREE] * len(related)
    matched = 0
    while layers := _layers(related, below, above):
        for node, partner in enumerate(below):
            if partner == _FREE and _augment(node, related, layers, below, above):
                matched += 1
    return len(related) - matched


def _layers(related: Sequence[int], below: list[int], above: list[int]) -> list[int]:
    """Breadth first from the unmatched nodes along alternating paths: the lower ends reached at each length.

    Empty when no path leads to an unmatched lower end, that is when the matching is maximum.
    """
    frontier = [node for node, partner in enumerate(below) if partner == _FREE]
    unseen = (1 << len(related)) - 1
    layers: list[int] = []
    while frontier:
        reached = 0
        for node in frontier:
            reached |= related[node]
        reached &= unseen
        unseen &= ~reached
        layers.append(reached)
        partners = [above[node] for node in _bits(reached)]
        if _FREE in partners:
            return layers
        frontier = partners
    return []


def _augment(root: int, related: Sequence[int], layers: list[int], below: list[int], above: list[int]) -> bool:
    """Lengthen the matching along one path from ``root`` through the layers; every lower end is tried once."""
    path = [root]
    ends: list[int] = []
    while path:
        depth = len(path) - 1
        choices = related[path[-1]] & layers[depth] if depth < len(layers) else 0
        if not choices:
            path.pop()
            if ends:
                ends.pop()
            continue
        end = (choices & -choices).bit_length() - 1
        layers[depth] ^= 1 << end
        ends.append(end)
        if above[end] == _FREE:
            for node, lower in zip(path, ends, strict=True):
                below[node], above[lower] = lower, node
            return True
        path.append(above[end])
    return False


def _bits(number: int) -> list[int]:
    """The places of the ones."""
    places: list[int] = []
    base = 0
    while number:
        word = number & 0xFFFFFFFFFFFFFFFF
        while word:
            places.append(base + (word & -word).bit_length() - 1)
            word &= word - 1
        number >>= 64
        base += 64
    return places
