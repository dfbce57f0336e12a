"""How long the program's own part of an extraction takes: grouping, choosing, and all of it with a model that answers at once.

.venv/bin/python -m benchmarks.extraction
"""

from __future__ import annotations

import gc
import resource
import tempfile
import time
from pathlib import Path
from random import Random

from tests.optimizer.extraction.harness import extract
from tests.optimizer.extraction.planted import World

from merrow_optimizer.extraction.choosing import CoverCandidate, choose
from merrow_optimizer.extraction.grouping import Grouping
from merrow_optimizer.extraction.steps import read_steps

CASES = 200


def main() -> None:
    """Measure, and print a line for each."""
    gc.set_threshold(200_000, 20, 100)  # as the commands do
    world = World(3, operators=8, cases=250)
    cases = {f"c{number}": read_steps({"steps": world.steps(number)}, ("PROBLEM",)) for number in range(world.cases)}
    began = time.process_time()
    groups = Grouping(cases, "Answer").groups()
    steps = sum(map(len, cases.values()))
    print(f"grouping of {steps:,} steps into {len(groups)}: {time.process_time() - began:.2f} s")
    for count, name in ((18, "exact"), (200, "greedy")):
        chance = Random(1)  # noqa: S311
        offers = [CoverCandidate(f"o{number}", chance.randint(1, 6), chance.randint(5, 99)) for number in range(count)]
        covers = [[sum(1 << chance.randrange(count) for _ in range(3)) for _ in range(4)] for _ in range(CASES)]
        began = time.process_time()
        choose(offers, covers, 0.95)
        print(f"{name} choice, {count} candidates, {CASES} cases: {time.process_time() - began:.2f} s")
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        done = extract(Path(folder), World(3, operators=8, cases=CASES))
    runs = done.report["cost"]["runs_of_cases"]
    steps = sum(len(one) for one in done.extractor.outcome.steps.values())
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{CASES} cases with {steps} steps, {runs} runs of them: {seconds:.1f} s of one core, {memory:.0f} MB at most"
    )


if __name__ == "__main__":
    main()
