"""What the preconditions of safe mutations are worth; prints the tables of docs/mutations.md.

The first table has the share of invalid mutants with all preconditions, with each one left out, and with none, over
the valid workflows that `mutation_run` starts at. The second one feeds malformed workflows (the corpus's seeded
defects, where the corpus is beside the repository) to each operator: how many proposals it accepts and rejects, and how
many of those accepted bring an error that was not there.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection, Iterator
from random import Random

import click
from mutation_run import ROOT, starts

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, changes, make
from merrow_optimizer.mutations.operator_names import OF_ONE_PARENT
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.preconditions import ALL, Precondition

NAMES = OF_ONE_PARENT


def proposed(original: Original, name: str, most: int, random: Random) -> list[Mutation]:
    """Some of the changes that an operator proposes, drawn evenly."""
    found = list(changes(original, MoveFilter({name: OPERATORS[name]})))
    return found if len(found) <= most else random.sample(found, most)


def ablation(texts: list[tuple[str, str]], most: int) -> Iterator[str]:
    """The rows of the first table."""
    settings: list[tuple[str, Collection[Precondition]]] = [("all on", ALL)]
    settings += [(f"({one.letter}) {one.name} off", [other for other in ALL if other is not one]) for one in ALL]
    settings.append(("none", ()))
    yield "| preconditions | mutants | invalid | " + " | ".join(f"{name}" for name in NAMES) + " | new warnings |"
    yield "|---|---|---|" + "---|" * (len(NAMES) + 1)
    for label, preconditions in settings:
        random = Random(0)  # noqa: S311 - no secret
        made: Counter[str] = Counter()
        invalid: Counter[str] = Counter()
        warned = 0
        for _, text in texts:
            analysis = analyse(text)
            original = Original(analysis)
            for name in NAMES:
                for change in proposed(original, name, most, random):
                    move = make(change, preconditions)
                    if not isinstance(move, Move):
                        continue
                    after = analyse(move.apply(text))
                    made[name] += 1
                    if not after.is_valid:
                        invalid[name] += 1
                    elif _count(after, Severity.WARNING) > _count(analysis, Severity.WARNING):
                        warned += 1
        shares = " | ".join(_share(invalid[name], made[name]) for name in NAMES)
        total = sum(made.values())
        yield f"| {label} | {total} | {_share(sum(invalid.values()), total)} | {shares} | {_share(warned, total)} |"


def _count(analysis: Analysis, severity: Severity) -> int:
    return sum(found.severity is severity for found in analysis.diagnostics)


def _share(part: int, whole: int) -> str:
    return "–" if not whole else f"{100 * part / whole:.1f} %"


def malformed() -> Iterator[str]:
    """The rows of the second table; accepted/rejected by operator."""
    manifest = ROOT.parent / "shared" / "corpus" / "mmd" / "manifest.jsonl"
    if not manifest.is_file():
        yield "The corpus (../shared/corpus) is not beside the repository."
        return
    yield "| defect | " + " | ".join(NAMES) + " | false accepts |"
    yield "|---|" + "---|" * (len(NAMES) + 1)
    entries = [json.loads(line) for line in manifest.read_text("utf-8").splitlines() if line.strip()]
    for entry in entries:
        if entry["valid"]:
            continue
        text = (manifest.parent / entry["file"]).read_text("utf-8")
        analysis = analyse(text)
        if analysis.typed is None:
            yield f"| {entry['defect']} |" + " – |" * len(NAMES) + " 0 |"
            continue
        before = _errors(analysis)
        original, cells, false = Original(analysis), [], 0
        for name in NAMES:
            accepted = rejected = 0
            for change in changes(original, MoveFilter({name: OPERATORS[name]})):
                move = make(change)
                if not isinstance(move, Move):
                    rejected += 1
                    continue
                accepted += 1
                false += not _errors(analyse(move.apply(text))) <= before
            cells.append(f"{accepted}/{rejected}")
        yield f"| {entry['defect']} | {' | '.join(cells)} | {false} |"


def _errors(analysis: Analysis) -> set[tuple[str, str]]:
    """Errors by code and node; one on an edge counts for the node it leads into."""
    where = {edge.range: edge.target.id for edge in reversed(analysis.flow.edges)}
    for edge in reversed(analysis.flow.edges):
        if edge.arrow.label is not None:
            where[edge.block.range(edge.arrow.label.span)] = edge.target.id
    for node in analysis.flow.nodes.values():
        where.update((mention.range, node.id) for mention in node.mentions)
    errors = (found for found in analysis.diagnostics if found.severity is Severity.ERROR)
    return {(found.code, where.get(found.range, "")) for found in errors}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generated", type=int, default=60, help="workflows drawn from the tests' strategy")
    parser.add_argument("--most", type=int, default=40, help="proposals of an operator looked at in a workflow")
    parser.add_argument("--table", choices=("ablation", "malformed"), help="only one of the two tables")
    options = parser.parse_args()
    if options.table != "malformed":
        for line in ablation(starts(options.generated), options.most):
            click.echo(line)
        click.echo()
    if options.table != "ablation":
        for line in malformed():
            click.echo(line)


if __name__ == "__main__":
    main()
