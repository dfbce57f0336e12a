"""Make many random safe mutants and hold each against what is promised of it; prints a table for docs/mutations.md.

Chains of mutants start at every valid workflow of the examples and, where it is there, of the corpus beside the
repository, and at workflows that the test suite's own strategy draws. For each mutant: it is valid; no error or warning
is new; the graphs differ by the declared delta; the reverse edits give the text back; one of the mutant's deletions undoes
an addition.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import NonInteractiveExampleWarning

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move, WorkflowDifference, workflow_difference
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, draw, moves
from merrow_optimizer.mutations.operator_names import ADDITION, DELETION

DELETIONS = MoveFilter({DELETION: OPERATORS[DELETION]})
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.workflows import workflows  # noqa: E402 - the tests are no installed package


def starts(generated: int) -> list[tuple[str, str]]:
    """Name and text of the workflows that chains start at."""
    found = [(path.name, path.read_text("utf-8")) for path in sorted((ROOT / "examples").glob("*.mmd"))]
    corpus = ROOT.parent / "shared" / "corpus"
    found += [(path.name, path.read_text("utf-8")) for path in sorted(corpus.glob("m*/**/*.mmd"))]
    texts: list[str] = []

    @seed(1)
    @settings(
        max_examples=generated,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(workflows())
    def collect(text: str) -> None:
        texts.append(text)

    if generated:
        warnings.simplefilter("ignore", NonInteractiveExampleWarning)
        collect()
    found += [(f"generated {number}", text) for number, text in enumerate(texts, 1)]
    return [(name, text) for name, text in found if analyse(text).is_valid and analyse(text).typed is not None]


def troubles(analysis: Analysis) -> Counter[tuple[str, str]]:
    """Errors and warnings by code and message."""
    return Counter((found.code, found.message) for found in analysis.diagnostics if found.severity is not Severity.HINT)


def faults(before: Analysis, text: str, move: Move, after: Analysis, mutant: str) -> Iterator[str]:
    """Which promises a mutant breaks."""
    if after.typed is None or not after.is_valid:
        yield "invalid"
    if {code for code, _ in troubles(after) - troubles(before)} - {code for code, _ in troubles(before)}:
        yield "new warning"
    if after.typed is not None and workflow_difference(before, after) != move.difference:
        yield "delta"
    if apply_edits(mutant, move.reverse) != text:
        yield "reverse"
    if move.operator == ADDITION and not is_undone(before, move, after, mutant):
        yield "not undone"


def is_undone(before: Analysis, move: Move, after: Analysis, mutant: str) -> bool:
    """Whether one of the mutant's deletions makes the graph what it was before an addition."""
    names = {node.id for node in move.difference.added_nodes}
    for deletion in moves(after, DELETIONS):
        if {node.id for node in deletion.difference.removed_nodes} == names:
            return workflow_difference(before, analyse(deletion.apply(mutant))) == WorkflowDifference()
    return False


class Tally:
    """What was counted, kept in a file from one run to the next. Chain ``n`` is the same in every run of the same seed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.chains = 0
        self.seconds = 0.0
        self.made: Counter[str] = Counter()
        self.broken: Counter[tuple[str, str]] = Counter()
        if path is not None and path.is_file():
            kept = json.loads(path.read_text("utf-8"))
            self.chains, self.seconds = kept["chains"], kept["seconds"]
            self.made.update(kept["made"])
            self.broken.update({(operator, fault): count for operator, fault, count in kept["broken"]})

    def keep(self) -> None:
        """Write the state in one step, so that a run that is cut off goes on from there."""
        if self.path is None:
            return
        state = {
            "chains": self.chains,
            "seconds": self.seconds,
            "made": self.made,
            "broken": [[*key, count] for key, count in sorted(self.broken.items())],
        }
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(state), "utf-8")
        beside.replace(self.path)

    def table(self) -> Iterator[str]:
        """The figures as a Markdown table."""
        yield f"| operator | mutants | {' | '.join(KINDS)} |"
        yield f"|---|---|{'---|' * len(KINDS)}"
        for operator in sorted(self.made):
            cells = " | ".join(str(self.broken[operator, kind]) for kind in KINDS)
            yield f"| {operator} | {self.made[operator]} | {cells} |"
        cells = " | ".join(str(sum(self.broken[operator, kind] for operator in self.made)) for kind in KINDS)
        yield f"| all | {self.made.total()} | {cells} |"


KINDS = ("invalid", "new warning", "delta", "reverse", "not undone")


def chain(name: str, text: str, length: int, random: Random, tally: Tally) -> None:
    """Make mutants of each other and count them and their faults; the first fault ends the chain and is shown."""
    choice, analysis = MoveFilter(OPERATORS), analyse(text)
    for _ in range(length):
        move = draw(analysis, random, choice)
        if move is None:
            return
        mutant = move.apply(text)
        after = analyse(mutant)
        tally.made[move.operator] += 1
        wrong = list(faults(analysis, text, move, after, mutant))
        if wrong:
            tally.broken.update((move.operator, fault) for fault in wrong)
            click.echo(f"-- {name}: {move.title}: {', '.join(wrong)}\n{text}\n-- becomes\n{mutant}", err=True)
            return
        text, analysis = mutant, after


def main() -> int:
    """Run until there are enough mutants or the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--chain", type=int, default=25, help="mutants in a row before a chain starts again")
    parser.add_argument("--generated", type=int, default=200, help="workflows drawn from the tests' strategy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, help="a file that keeps the counts, to go on from in another run")
    options = parser.parse_args()
    texts, tally = starts(options.generated), Tally(options.state)
    begun, before, told = time.monotonic(), tally.seconds, 0
    while tally.made.total() < options.mutants and time.monotonic() - begun < options.seconds:
        random = Random(f"{options.seed} {tally.chains}")  # noqa: S311 - no secret
        chain(*texts[random.randrange(len(texts))], options.chain, random, tally)
        tally.chains += 1
        tally.seconds = before + time.monotonic() - begun
        if tally.made.total() >= told + _TOLD_EACH:
            told = tally.made.total()
            tally.keep()
            click.echo(f"{told} mutants, {tally.broken.total()} faults, {tally.seconds:.0f} s", err=True)
    tally.keep()
    for line in tally.table():
        click.echo(line)
    click.echo(f"\n{tally.made.total()} mutants from {len(texts)} workflows in {tally.seconds:.0f} s.")
    return 1 if tally.broken else 0


_TOLD_EACH = 1000


if __name__ == "__main__":
    sys.exit(main())
