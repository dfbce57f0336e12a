"""Make many random safe mutants and hold each against what is promised of it; prints a table for docs/mutations.md.

Chains of mutants start at every valid workflow of the examples and, where it is there, of the corpus beside the
repository, and at workflows that the test suite's own strategy draws. For each mutant: it is valid; no error or warning
is new; the graphs differ by the declared delta; the reverse edits give the text back.
"""

from __future__ import annotations

import argparse
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
from merrow_analysis.graph.typed import TypedCache
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move, workflow_difference
from merrow_optimizer.mutations.moves import OPERATORS, Choice, draw

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
    if after.typed is not None and workflow_difference(before, after) != move.delta:
        yield "delta"
    if apply_edits(mutant, move.reverse) != text:
        yield "reverse"


def main() -> int:
    """Run until there are enough mutants or the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--chain", type=int, default=25, help="mutants in a row before a chain starts anew")
    parser.add_argument("--generated", type=int, default=200, help="workflows drawn from the tests' strategy")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    texts = starts(options.generated)
    random = Random(options.seed)  # noqa: S311 - no secret
    made: Counter[str] = Counter()
    broken: Counter[tuple[str, str]] = Counter()
    choice = Choice(OPERATORS)
    begun = time.monotonic()
    while sum(made.values()) < options.mutants and time.monotonic() - begun < options.seconds:
        name, text = texts[random.randrange(len(texts))]
        analysis = analyse(text)
        cache = TypedCache()
        for _ in range(options.chain):
            move = draw(analysis, random, choice, cache)
            if move is None:
                break
            mutant = move.apply(text)
            after = analyse(mutant)
            made[move.operator] += 1
            wrong = list(faults(analysis, text, move, after, mutant))
            if wrong:
                broken.update((move.operator, fault) for fault in wrong)
                click.echo(f"-- {name}: {move.title}: {', '.join(wrong)}\n{text}\n-- becomes\n{mutant}", err=True)
                break
            text, analysis = mutant, after
    seconds = time.monotonic() - begun
    kinds = ("invalid", "new warning", "delta", "reverse")
    click.echo(f"| operator | mutants | {' | '.join(kinds)} |")
    click.echo(f"|---|---|{'---|' * len(kinds)}")
    for operator in made:
        click.echo(f"| {operator} | {made[operator]} | {' | '.join(str(broken[operator, kind]) for kind in kinds)} |")
    total = sum(made.values())
    click.echo(f"| all | {total} | {' | '.join(str(sum(broken[o, kind] for o in made)) for kind in kinds)} |")
    click.echo(f"\n{total} mutants from {len(texts)} workflows in {seconds:.0f} s.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
