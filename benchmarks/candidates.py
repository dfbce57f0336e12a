"""What a search pays for a candidate, and what versions of a graph take up.

A candidate is a workflow one move away: proposed, its graph inferred, looked at for harm, and named by a hash. Nothing is
written as text. Versions are the graphs after single edits of one file, all kept.

    python -m benchmarks.candidates
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from random import Random

from benchmarks.files import workflow_text
from benchmarks.mutations import FOUR, workflow
from benchmarks.warm import edge_edits, label_edits
from merrow_analysis.check import Analyser, analyse
from merrow_analysis.text import split_lines
from merrow_optimizer.mutations.moves import identity
from merrow_optimizer.mutations.original import Original

CANDIDATES = 1000
VERSIONS = 1000
SIZES = (20, 200)


def candidate_milliseconds(nodes: int, seed: int = 1) -> float:
    """CPU milliseconds of one of `CANDIDATES` candidates of a workflow."""
    random = Random(seed)  # noqa: S311 - no secret
    original = Original(analyse(workflow(nodes)))
    listings = [original.remembered(proposals) for proposals in FOUR.values()]
    listings = [listing for listing in listings if listing]
    gc.collect()
    gc.freeze()
    begun = time.process_time()
    for _ in range(CANDIDATES):
        listing = listings[random.randrange(len(listings))]
        change = listing[random.randrange(len(listing))]()
        _ = change.does_harm
        identity(change)
    passed = time.process_time() - begun
    gc.unfreeze()
    return 1000 * passed / CANDIDATES


def versions_mebibytes(nodes: int) -> float:
    """MiB that `VERSIONS` graphs take, each one edit away from the last, alternately of a label and of an edge."""
    text = workflow_text(nodes)
    lines = split_lines(text)
    analyser = Analyser(text)
    analyser.analysis()
    gc.collect()
    tracemalloc.start()
    kept = []
    for pair in zip(label_edits(lines, VERSIONS // 2), edge_edits(lines, nodes, VERSIONS // 2), strict=True):
        for edit in pair:
            analyser.edit(edit)
            typed = analyser.analysis().typed
            if typed is not None:
                kept.append(typed.core)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / 2**20


def main() -> None:
    """Print the figures."""
    print("| | figure |\n|---|---:|")
    for nodes in SIZES:
        print(f"| one of {CANDIDATES} candidates of {nodes} nodes, CPU ms | {candidate_milliseconds(nodes):.2f} |")
    print(f"| {VERSIONS} versions of a graph of 200 nodes, MiB | {versions_mebibytes(200):.1f} |")


if __name__ == "__main__":
    main()
