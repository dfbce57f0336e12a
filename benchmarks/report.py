"""The figures as tables, and their places in the documentation."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.cold import Cold
from benchmarks.peers import NAMES
from benchmarks.warm import Warm

DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass
class Figures:
    """All that one run measured."""

    machine: str
    cold: list[Cold] = field(default_factory=list)
    warm: list[Warm] = field(default_factory=list)
    memory: dict[int, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "growth": growth(self.cold)}


def growth(cold: list[Cold]) -> dict[str, float]:
    """How many times longer each reader takes for ten times the nodes, between the two largest sizes; 10 is linear."""
    plain = sorted((each for each in cold if not each.metadata), key=lambda each: each.nodes)
    if len(plain) < 2:
        return {}
    smaller, larger = plain[-2:]
    step = larger.nodes / smaller.nodes
    return {name: figure / smaller.milliseconds[name] * 10 / step for name, figure in larger.milliseconds.items()}


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [_row(head), _row(["---"] + ["---:"] * (len(head) - 1)), *map(_row, rows)]


def markdown(figures: Figures) -> str:
    """The tables of a run."""
    readers = list(figures.cold[0].milliseconds)
    lines = ["Opening a file cold, CPU milliseconds (medians; all readers took turns in one run):", ""]
    rows = [
        [
            f"{each.nodes}{', metadata' if each.metadata else ''}",
            *(f"{each.milliseconds[name]:.1f}" for name in readers),
        ]
        for each in figures.cold
    ]
    rates = growth(figures.cold)
    rows.append(["growth for 10 times the nodes", *(f"{rates[name]:.1f}x" for name in readers)])
    lines += _table(["nodes", *(NAMES.get(name, name) for name in readers)], rows)
    lines += [
        "",
        "One line edited in an open file and all of it checked again, CPU milliseconds (median, 95th percentile)",
        "",
    ]
    lines[-2] += ", and how often the text could have been split into lines meanwhile:"
    lines += _table(
        ["nodes", "label edit", "ratio", "edge edit", "ratio", "a key typed at an edge", "ratio"],
        [
            [
                str(each.nodes),
                f"{each.label:.2f}, {each.label_p95:.2f}",
                f"{each.label / each.floor:.1f}x",
                f"{each.edge:.2f}, {each.edge_p95:.2f}",
                f"{each.edge / each.floor:.1f}x",
                f"{each.typing:.2f}, {each.typing_p95:.2f}",
                f"{each.typing / each.floor:.1f}x",
            ]
            for each in figures.warm
        ],
    )
    lines += ["", "Peak memory of a process that checks one file, MiB:", ""]
    lines += _table(
        ["nodes", *(str(nodes) if nodes else "none (imports only)" for nodes in figures.memory)],
        [["MiB", *(f"{size:.0f}" for size in figures.memory.values())]],
    )
    lines += ["", f"Measured on {figures.machine}."]
    return "\n".join(lines)


def write_region(page: str, name: str, content: str) -> None:
    """Put ``content`` between the markers ``<!-- name -->`` and ``<!-- /name -->`` of a page of ``docs``."""
    file = DOCS / page
    text = file.read_text(encoding="utf-8")
    region = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not region.search(text):
        raise SystemExit(
            f"docs/{page} has no region {name}: put <!-- {name} --> and <!-- /{name} --> on lines of their own."
        )
    file.write_text(region.sub(lambda found: f"{found[1]}{content}\n{found[2]}", text), encoding="utf-8")
