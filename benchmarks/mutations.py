"""Safe mutants a second, against mutating blindly, checking and trying again.

Both ways use the same four operators, draw the same way, and keep the same incremental checker of the text up to date.
The blind way writes whatever the operators propose, checks the text, and takes the edits back where it is invalid; the
safe way asks the preconditions first and checks the text once, for the next mutant. The two factors are apart: the
share of blind mutants that are valid, and what one mutant costs each way.

    python -m benchmarks.mutations
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from merrow_analysis.check import Analyser
from merrow_analysis.graph.typed import TypedCache
from merrow_analysis.text import TextEdit
from merrow_optimizer.mutations import addition, deletion, rewiring, substitution
from merrow_optimizer.mutations.base import ADDITION, DELETION, REWIRING, SUBSTITUTION, edits_both_ways
from merrow_optimizer.mutations.change import Change, Subject
from merrow_optimizer.mutations.manuscript import CannotWriteError
from merrow_optimizer.mutations.moves import Choice, draw
from merrow_optimizer.mutations.writing import write

_FOUR = {SUBSTITUTION: substitution, ADDITION: addition, REWIRING: rewiring, DELETION: deletion}
FOUR = {name: module.proposals for name, module in _FOUR.items()}
SIZES = (10, 50, 200)


@dataclass(frozen=True)
class Row:
    """Figures at one size; times are CPU milliseconds."""

    nodes: int
    safe: float
    blind: float
    valid: float

    @property
    def blind_per_valid(self) -> float:
        """What a valid mutant costs the blind way."""
        return self.blind / self.valid if self.valid else float("inf")


_HEAD = """flowchart TD
    PROBLEM([Problem])
    ENTRY_POINT([Entry point])
    RETURN([Return])
"""
_PARTS = {
    "vote": (
        ("A", "Custom", "(role: solver)"),
        ("B", "Custom", "(role: checker)"),
        ("C", "Programmer", ""),
        ("V", "ScEnsemble", ""),
    ),
    "review": (("D", "Custom", "(role: writer)"), ("R", "Review", ""), ("S", "Revise", "")),
    "code": (("G", "CustomCodeGenerate", "(instruction: coder)"), ("T", "Test", ""), ("E", "Custom", "(role: teller)")),
}
_EDGES = {
    "vote": ("{0} -->|input| A", "{0} -->|input| B", "PROBLEM -->|problem| C", "A --> V", "B --> V", "C --> V"),
    "review": (
        *("{0} -->|input| D", "D -->|solution| R", "PROBLEM -->|problem| R"),
        *("D -->|solution| S", "PROBLEM -->|problem| S", "R -->|feedback:feedback| S"),
    ),
    "code": (
        *("{0} -->|problem| G", "ENTRY_POINT -->|entry_point| G", "G -->|solution| T", "PROBLEM -->|problem| T"),
        *("ENTRY_POINT -->|entry_point| T", "T -->|input| E"),
    ),
}


def workflow(nodes: int) -> str:
    """A valid workflow of about this many nodes: votes, reviews and tested programs, one after the other."""
    declared: list[str] = []
    edges: list[str] = []
    last, count, number = "PROBLEM", 3, 0
    kinds = ["code", "vote", "review"]
    while count < nodes:
        kind = kinds[number % len(kinds)]
        names = {name: f"{name}{number}" for name, _, _ in _PARTS[kind]}
        for name, operator, rest in _PARTS[kind]:
            declared.append(f'    {names[name]}["{operator}<br/>{rest}"]:::{operator}Op')
        for edge in _EDGES[kind]:
            source, arrow, target = edge.format(last).split(" ")
            edges.append(f"    {names.get(source, source)} {arrow} {names.get(target, target)}")
        last = list(names.values())[-1]
        count, number = count + len(names), number + 1
    used = sorted({line.rpartition(":::")[2] for line in declared})
    lines = [*declared, *(f"    classDef {name} fill:#eee" for name in [*used, "Interface"])]
    lines += ["    class PROBLEM,ENTRY_POINT,RETURN Interface", *edges, f"    {last} --> RETURN"]
    return _HEAD + "\n".join(lines) + "\n"


_CHAIN = 20
"""Mutants in a row before both ways start anew."""


def _advance(analyser: Analyser, edits: tuple[TextEdit, ...]) -> None:
    for edit in reversed(edits):
        analyser.edit(edit)


def safe(text: str, seconds: float, seed: int) -> float:
    """CPU milliseconds of a safe mutant: drawing, writing, and the analysis that the next one starts from."""
    random = Random(seed)  # noqa: S311 - no secret
    cache = TypedCache()
    choice = Choice(FOUR, max_nodes=10_000)
    spent, made = 0.0, 0
    while spent < seconds:
        analyser = Analyser(text)
        analysis = analyser.analysis()
        begun = time.process_time()
        for _ in range(_CHAIN):
            move = draw(analysis, random, choice, cache)
            if move is None:
                break
            _advance(analyser, move.edits)
            analysis = analyser.analysis()
            made += 1
        spent += time.process_time() - begun
    return 1000 * spent / max(made, 1)


def _blind_changes(subject: Subject, random: Random) -> Iterator[Change]:
    while True:
        offered = list(FOUR)[random.randrange(len(FOUR))]
        proposals = FOUR[offered](subject)
        if proposals:
            yield proposals[random.randrange(len(proposals))]()


def blind(text: str, seconds: float, seed: int) -> tuple[float, float]:
    """CPU milliseconds of a blind mutant with its check, and the share that is valid."""
    random = Random(seed)  # noqa: S311 - no secret
    spent, made, valid = 0.0, 0, 0
    while spent < seconds:
        analyser = Analyser(text)
        subject = Subject(analyser.analysis())
        begun = time.process_time()
        tried = 0
        while tried < _CHAIN:
            change = next(_blind_changes(subject, random))
            try:
                _, edits, reverse = edits_both_ways(subject.text, write(change))
            except (CannotWriteError, ValueError):
                continue
            tried += 1
            _advance(analyser, edits)
            analysis = analyser.analysis()
            if analysis.is_valid:
                valid += 1
            else:
                _advance(analyser, reverse)
                analysis = analyser.analysis()
            subject = Subject(analysis)
        spent += time.process_time() - begun
        made += tried
    return 1000 * spent / made, valid / made


def run(seconds: float = 5.0) -> list[Row]:
    """All figures; each takes about ``seconds`` of CPU."""
    rows = []
    for nodes in SIZES:
        text = workflow(nodes)
        cost, share = blind(text, seconds, 1)
        rows.append(Row(nodes, safe(text, seconds, 1), cost, share))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    rows = run(parser.parse_args().seconds)
    print(
        "| nodes | safe mutant | safe mutants/s | blind mutant with check | valid share | blind, per valid | factor |"
    )
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.nodes} | {row.safe:.2f} ms | {1000 / row.safe:.0f} | {row.blind:.2f} ms | {100 * row.valid:.0f} % |"
            f" {row.blind_per_valid:.2f} ms | {row.blind_per_valid / row.safe:.1f} |"
        )


if __name__ == "__main__":
    main()
