"""One-line edits of an open file, checked after each: as a ratio to splitting the text into lines."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from statistics import median

from benchmarks.files import workflow_text
from benchmarks.measure import percentile
from merrow_analysis.check import Analyser
from merrow_analysis.text import Position, Range, TextEdit, split_lines


@dataclass(frozen=True)
class Warm:
    """CPU milliseconds at one size; ``floor`` is one splitting of the text into lines."""

    nodes: int
    floor: float
    label: float
    label_p95: float
    edge: float
    edge_p95: float
    typing: float
    typing_p95: float


_ROLE = re.compile(r"solver_(\d+)")
_EDGE = re.compile(r"N0_(\d+) .*N0_(\d+)\n")


def label_edits(lines: list[str], rounds: int) -> Iterator[TextEdit]:
    """Another role for one node after the other, all over the file."""
    places = [number for number, line in enumerate(lines) if _ROLE.search(line)]
    for number in range(rounds):
        place = places[number * len(places) // rounds]
        role = _ROLE.search(lines[place])
        if role is not None:
            yield _replace(lines, place, role.span(1), str((int(role[1]) + 7) % 30))


def edge_edits(lines: list[str], nodes: int, rounds: int) -> Iterator[TextEdit]:
    """Another target, further on, for one edge after the other, all over the file."""
    places = [number for number, line in enumerate(lines) if _EDGE.search(line)]
    for number in range(rounds):
        place = places[number * len(places) // rounds]
        edge = _EDGE.search(lines[place])
        if edge is not None:
            source, target = int(edge[1]), int(edge[2]) + 1
            yield _replace(lines, place, edge.span(2), str(target if target < nodes else min(source + 1, nodes - 1)))


def typing_edits(lines: list[str], nodes: int, keys: int) -> Iterator[TextEdit]:
    """The keystrokes of somebody who changes edges all over the file, ``keys`` of them or a few more.

    An edge is deleted from its end, character by character, and typed again with a label and another target, at every
    third place one that comes earlier: so the text passes through arrows without a target, ids that don't exist yet, ids
    that begin like others, edges that run backwards, cycles, and nodes that nothing reaches. At the end of each place the
    edge is as it was.
    """
    places = [number for number, line in enumerate(lines) if _EDGE.search(line)]
    pressed = 0
    for turn in count():
        place = places[turn * 7919 % len(places)]
        was = lines[place].rstrip("\n")
        edge = _EDGE.search(lines[place])
        if edge is None:
            continue
        source = int(edge[1])
        other = max(0, source - 3) if turn % 3 == 2 else min(source + 2, nodes - 1)
        stem = len(was) - len(was.lstrip()) + len(f"N0_{source}")
        for text in (f"{was[:stem]} -->|input| N0_{other}", was):
            for _ in range(len(lines[place].rstrip("\n")) - stem):
                end = len(lines[place].rstrip("\n"))
                yield _replace(lines, place, (end - 1, end), "")
                pressed += 1
            for end in range(stem, len(text)):
                yield _replace(lines, place, (end, end), text[end])
                pressed += 1
        if pressed >= keys:
            return


def _replace(lines: list[str], place: int, span: tuple[int, int], new: str) -> TextEdit:
    line = lines[place]
    lines[place] = line[: span[0]] + new + line[span[1] :]
    return TextEdit(Range(Position(place, span[0]), Position(place, span[1])), new)


def _timed(analyser: Analyser, edits: Iterable[TextEdit]) -> list[float]:
    figures = []
    for edit in edits:
        start = time.process_time()
        analyser.edit(edit)
        analyser.analysis()
        figures.append((time.process_time() - start) * 1000)
    return figures


def measure_warm(nodes: int, rounds: int) -> Warm:
    text = workflow_text(nodes)
    lines = split_lines(text)
    analyser = Analyser(text)
    analyser.analysis()
    gc.collect()
    gc.freeze()
    labels = _timed(analyser, label_edits(lines, rounds))
    edges = _timed(analyser, edge_edits(lines, nodes, rounds))
    keys = _timed(analyser, typing_edits(lines, nodes, rounds))
    floors = []
    for _ in range(rounds):
        start = time.process_time()
        split_lines(text)
        floors.append((time.process_time() - start) * 1000)
    gc.unfreeze()
    return Warm(
        nodes,
        median(floors),
        *(figure for taken in (labels, edges, keys) for figure in (median(taken), percentile(taken, 0.95))),
    )
