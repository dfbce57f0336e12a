"""Safe mutants a second, against mutating blindly, checking and trying again.

Both ways use the same four operators, draw the same way, and have the same incremental checker. The blind way writes
whatever the operators propose, checks the text, and goes back where it is invalid; the safe way asks the preconditions
first. Asked twice: for many mutants of one workflow (a search's next generation), where the safe way needs no checker at
all, and for a chain of mutants, where both read each mutant before the next one. The two factors are apart: the share of
blind mutants that are valid, and what one mutant costs each way.

    python -m benchmarks.mutations
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.write import write
from merrow_analysis.text import TextEdit
from merrow_optimizer.mutations import addition, deletion, rewiring, substitution
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.moves import Lineage, MoveFilter, draw_from
from merrow_optimizer.mutations.operator_names import ADDITION, DELETION, REWIRING, SUBSTITUTION
from merrow_optimizer.mutations.original import Original

_FOUR = {SUBSTITUTION: substitution, ADDITION: addition, REWIRING: rewiring, DELETION: deletion}
FOUR = {name: module.proposals for name, module in _FOUR.items()}
SIZES = (10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Row:
    """Figures of one way to ask at one size; times are CPU milliseconds."""

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
"""Mutants in a row before both ways start again."""


def _advance(analyser: Analyser, edits: Sequence[TextEdit]) -> None:
    for edit in reversed(edits):
        analyser.edit(edit)


def safe_siblings(text: str, seconds: float, seed: int) -> float:
    """CPU milliseconds of a safe mutant of one workflow: drawing and writing it. Its validity needs no check."""
    random = Random(seed)  # noqa: S311 - no secret
    original, choice, made = Original(analyse(text)), MoveFilter(FOUR, max_nodes=10_000), 0
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        move = draw_from(original, random, choice)
        if move is None:
            raise ValueError("no safe move")
        move.apply(text)
        made += 1
    return 1000 * (time.process_time() - begun) / made


def safe_chain(text: str, seconds: float, seed: int) -> float:
    """CPU milliseconds of a safe mutant in a chain: drawing, writing, and the analysis that the next one starts from."""
    random = Random(seed)  # noqa: S311 - no secret
    spent, made = 0.0, 0
    while spent < seconds:
        lineage = Lineage(text, MoveFilter(FOUR, max_nodes=10_000))
        _ = lineage.analysis
        begun = time.process_time()
        made += sum(lineage.grow(random) is not None for _ in range(_CHAIN))
        spent += time.process_time() - begun
    return 1000 * spent / made


def _blind_change(original: Original, random: Random) -> tuple[tuple[TextEdit, ...], tuple[TextEdit, ...]]:
    """The edits of a blind mutant, and those that take them back."""
    while True:
        proposals = original.remembered(FOUR[list(FOUR)[random.randrange(len(FOUR))]])
        if not proposals:
            continue
        change: Mutation = proposals[random.randrange(len(proposals))]()
        try:
            _, edits, reverse = edits_both_ways(original.workflow_text.places, write(original.workflow_text, change))
        except (CannotWriteError, ValueError):
            continue
        return edits, reverse


def blind_siblings(text: str, seconds: float, seed: int) -> tuple[float, float]:
    """CPU milliseconds of a blind mutant of one workflow with its check, and the share that is valid."""
    random = Random(seed)  # noqa: S311 - no secret
    original, checker = Original(analyse(text)), Analyser(text)
    checker.analysis()
    made, valid = 0, 0
    back: tuple[TextEdit, ...] = ()
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        edits, reverse = _blind_change(original, random)
        # The checker goes back and forth in one go: what it reads is the next mutant alone.
        _advance(checker, back)
        _advance(checker, edits)
        valid += checker.analysis().is_valid
        back = reverse
        made += 1
    return 1000 * (time.process_time() - begun) / made, valid / made


def blind_chain(text: str, seconds: float, seed: int) -> tuple[float, float]:
    """CPU milliseconds of a blind mutant in a chain with its check, and the share that is valid."""
    random = Random(seed)  # noqa: S311 - no secret
    spent, made, valid = 0.0, 0, 0
    while spent < seconds:
        analyser = Analyser(text)
        original = Original(analyser.analysis())
        begun = time.process_time()
        for _ in range(_CHAIN):
            edits, reverse = _blind_change(original, random)
            _advance(analyser, edits)
            analysis = analyser.analysis()
            if analysis.is_valid:
                valid += 1
            else:
                _advance(analyser, reverse)
                analysis = analyser.analysis()
            original = Original(analysis)
        spent += time.process_time() - begun
        made += _CHAIN
    return 1000 * spent / made, valid / made


def run(seconds: float = 5.0, sizes: Sequence[int] = SIZES) -> dict[str, list[Row]]:
    """All figures by way to ask; each takes about ``seconds`` of CPU."""
    found: dict[str, list[Row]] = {"mutants of one workflow": [], "mutants in a chain": []}
    for nodes in sizes:
        text = workflow(nodes)
        rows = found.values()
        for row, safe, blind in zip(rows, (safe_siblings, safe_chain), (blind_siblings, blind_chain), strict=True):
            cost, share = blind(text, seconds, 1)
            row.append(Row(nodes, safe(text, seconds, 1), cost, share))
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    for what, rows in run(options.seconds, options.sizes).items():
        print(f"\n{what}\n")
        print(
            "| nodes | safe mutant | safe mutants/s | blind mutant with check | valid share | blind, per valid | factor |"
        )
        print("|---|---|---|---|---|---|---|")
        for row in rows:
            print(
                f"| {row.nodes} | {row.safe:.2f} ms | {1000 / row.safe:.0f} | {row.blind:.2f} ms |"
                f" {100 * row.valid:.0f} % | {row.blind_per_valid:.2f} ms | {row.blind_per_valid / row.safe:.1f} |"
            )


if __name__ == "__main__":
    main()
