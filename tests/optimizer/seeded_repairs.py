"""How well seeded defects are repaired: ``python -m tests.optimizer.seeded_repairs`` prints the table for all of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from random import Random
from statistics import median
from typing import NamedTuple

from tests.optimizer.seeded import KINDS, defective_files, seeded, several, valid_workflows

from merrow_analysis.check import analyse
from merrow_optimizer.repair.meaning import meaning_of
from merrow_optimizer.repair.search import repair

Case = tuple[str | None, str]
"""A workflow before its defects were seeded, where that is known, and after."""


class Share(NamedTuple):
    """Shares from 0 to 1 of ``count`` cases; ``seconds`` is the median of the processor's time."""

    count: int
    valid: float
    same: float
    smallest: float
    seconds: float

    def row(self, name: str) -> str:
        shares = " ".join(f"{share:7.1%}" for share in (self.valid, self.same, self.smallest))
        return f"{name:8} {self.count:5} {shares} {self.seconds * 1000:6.0f} ms"


HEAD = "defects  cases   valid    same smallest  median"


def share_of(cases: Iterable[Case]) -> Share:
    """How many of the cases are repaired, and how many to what they meant before."""
    valid = same = smallest = 0
    seconds: list[float] = []
    for before, after in cases:
        begun = time.process_time()
        done = repair(after, clock=time.process_time)
        seconds.append(time.process_time() - begun)
        valid += done.is_valid
        smallest += done.is_smallest
        same += before is not None and meaning_of(analyse(done.text)) == meaning_of(analyse(before))
    count = len(seconds)
    return Share(count, valid / count, same / count, smallest / count, median(seconds))


def of_corpus() -> Iterator[Case]:
    """The twenty files of the corpus with one defect each; what they were before is not kept."""
    return ((None, text) for text in defective_files().values())


def singles(random: Random, most: int) -> Iterator[Case]:
    """Each kind of defect in up to ``most`` workflows that have a place for it, where it is an error there."""
    texts = valid_workflows()
    for kind in KINDS:
        names, count = random.sample(sorted(texts), len(texts)), 0
        for name in names:
            after = seeded(texts[name], kind, random)
            if count < most and after is not None and not analyse(after).is_valid:
                count += 1
                yield texts[name], after


def combined(random: Random, count: int, of: int) -> Iterator[Case]:
    """``count`` workflows with ``of`` different defects each."""
    return ((before, after) for _, _, before, after in several(valid_workflows(), count, of, random))


def main() -> None:
    random = Random(7)
    sys.stdout.write(HEAD + "\n")
    for name, cases in (
        ("corpus", of_corpus()),
        ("single", singles(random, sys.maxsize)),
        ("pairs", combined(random, 200, 2)),
        ("triples", combined(random, 200, 3)),
    ):
        sys.stdout.write(share_of(cases).row(name) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
