"""One-line edits of an open file, checked after each: as a ratio to splitting the text into lines."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
    floors = []
    for _ in range(rounds):
        start = time.process_time()
        split_lines(text)
        floors.append((time.process_time() - start) * 1000)
    gc.unfreeze()
    return Warm(nodes, median(floors), median(labels), percentile(labels, 0.95), median(edges), percentile(edges, 0.95))
