"""How long a page of safe mutations takes: the first moves of a large workflow, as "More safe mutations" lists them.

Three shapes are hard for different reasons: many nodes, an ensemble with many voters (all types meet in one node), and many
Decisions in a row (what runs when depends on all of them). The aim is a page of 50 in 100 ms.

    python -m benchmarks.mutation_pages
"""

from __future__ import annotations

import argparse
import time
from itertools import islice, pairwise

from merrow_optimizer.mutations.moves import OPERATORS
from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.offers.mutation_pages import MutationFilter, MutationListing

_CLASSES = ("Custom", "ScEnsemble", "Decision")


def chain(nodes: int) -> str:
    """Nodes one after the other."""
    names = [f"N{number}" for number in range(nodes)]
    edges = [f"{one} --> {other}" for one, other in pairwise(["PROBLEM", *names, "RETURN"])]
    return _workflow([_custom(name) for name in names], edges)


def vote(voters: int) -> str:
    """An ensemble of many voices."""
    names = [f"N{number}" for number in range(voters)]
    edges = [f"PROBLEM --> {name} --> VOTE" for name in names]
    return _workflow([*map(_custom, names), 'VOTE["ScEnsemble"]:::ScEnsembleOp'], [*edges, "VOTE --> RETURN"])


def decisions(count: int) -> str:
    """Decisions in a row, each with two branches that join before the next one."""
    nodes, edges = [_custom("M0")], ["PROBLEM --> M0"]
    for number in range(count):
        one, other, joined = f"A{number}", f"B{number}", f"M{number + 1}"
        nodes += [f"D{number}{{which?}}:::DecisionOp", *map(_custom, (one, other, joined))]
        edges += [f"M{number} --> D{number}", f"D{number} -->|one| {one}", f"D{number} -->|else| {other}"]
        edges += [f"PROBLEM -->|input| {one} & {other}", f"{one} & {other} --> {joined}"]
    return _workflow(nodes, [*edges, f"M{count} --> RETURN"])


def _custom(name: str) -> str:
    return f'{name}["Custom<br/>(role: solver)"]:::CustomOp'


def _workflow(nodes: list[str], edges: list[str]) -> str:
    ends = ["PROBLEM([Problem]):::Interface", "RETURN([Return]):::Interface", "classDef Interface fill:#eee"]
    classes = [f"classDef {name}Op fill:#eee" for name in _CLASSES]
    return "flowchart TD\n" + "".join(f"    {line}\n" for line in [*ends, *nodes, *classes, *edges])


SHAPES = {"400 nodes": chain(400), "100 voters": vote(100), "40 Decisions": decisions(40)}


def page(text: str, wanted: MutationFilter, most: int) -> tuple[int, float]:
    """How many moves the first page has, and its CPU milliseconds; the text is analysed already."""
    (diagram,) = OpenDocument("untitled:flow.mmd", text).diagrams
    if not diagram.analysis.is_valid:
        raise ValueError("the workflow has errors")
    begun = time.process_time()
    offers = (offer for offer in MutationListing(diagram, wanted).after(0) if offer is not None)
    found = sum(1 for _ in islice(offers, most))
    return found, 1000 * (time.process_time() - begun)


def main() -> None:
    """Print a table: the fastest of some runs of each shape, of all operators and of each alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=50)
    options = parser.parse_args()
    asked = {
        "all": MutationFilter(),
        **{name: MutationFilter(operator=name) for name in OPERATORS if name != "rewiring"},
    }
    print(f"| shape | {' | '.join(asked)} |")
    print("|---|" + "---|" * len(asked))
    for shape, text in SHAPES.items():
        best = [min(page(text, one, options.most)[1] for _ in range(options.runs)) for one in asked.values()]
        print(f"| {shape} | {' | '.join(f'{spent:.0f} ms' for spent in best)} |")


if __name__ == "__main__":
    main()
