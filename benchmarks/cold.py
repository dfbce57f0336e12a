"""Opening a file cold: CPU milliseconds for a text of which no line was seen before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.files import workflow_text
from benchmarks.measure import cpu_milliseconds, in_turns
from benchmarks.peers import Peers
from merrow_analysis.check import analyse
from merrow_analysis.syntax.structure import parse_record


@dataclass(frozen=True)
class Cold:
    """Medians by reader: "merrow check" does all it can, "merrow parse" only what the peers do."""

    nodes: int
    metadata: bool
    milliseconds: dict[str, float]


def measure_cold(nodes: int, rounds: int, peers: Peers | None, *, metadata: bool = False) -> Cold:
    def text(number: int) -> str:
        return workflow_text(nodes, seed=number, metadata=metadata)

    def fresh(work: Callable[[str], object], offset: int) -> Callable[[int], float]:
        # Each reader in this process gets texts of its own, lest one profits from what another has remembered.
        def run(number: int) -> float:
            content = text(2 * number + offset)
            return cpu_milliseconds(lambda: work(content))

        return run

    def peer(name: str) -> Callable[[int], float]:
        return lambda number: peers.cpu(name, text(number)) if peers else 0.0

    contestants = {"merrow check": fresh(analyse, 0), "merrow parse": fresh(parse_record, 1)}
    if peers is not None:
        contestants |= {name: peer(name) for name in ("maid", "mermaid")}
    return Cold(nodes, metadata, in_turns(rounds, contestants))


def warm_up(peers: Peers | None) -> None:
    """Let imports, grammars and just-in-time compilers do their first work outside the figures."""
    for number in range(10):
        text = workflow_text(60, seed=10_000 + number, metadata=bool(number % 2))
        analyse(text)
        parse_record(text)
        if peers is not None:
            for name in ("maid", "mermaid"):
                peers.cpu(name, text)
