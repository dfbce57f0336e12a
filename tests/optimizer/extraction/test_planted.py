"""Operators that are planted in cases are found again, whatever the steps are called and however they are worded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.optimizer.extraction.harness import extract
from tests.optimizer.extraction.planted import World, recovered

from merrow_analysis.check import analyse
from merrow_analysis.definitions.libraries import read_library
from merrow_optimizer.extraction.grouping import Grouping
from merrow_optimizer.extraction.steps import Steps, read_steps

SEEDS = range(30)
FEW = range(10)


def world_of(seed: int, weak: float = 0.0) -> World:
    return World(seed, operators=3 + seed % 6, cases=(40, 80, 200)[seed % 3], weak=weak)


def grouped(world: World) -> list[tuple[tuple[str, ...], str]]:
    """The groups of all cases of a world, with the truth where there is a choice."""
    cases: dict[str, Steps] = {}
    truth: dict[tuple[str, str], int] = {}
    for number in range(world.cases):
        steps = read_steps({"steps": world.steps(number)}, ("PROBLEM",))
        cases[f"c{number}"] = steps
        for step in steps:
            truth[f"c{number}", step.name] = int(re.findall(r"<(\d+)>", step.does)[0])
    grouping = Grouping(cases, "Answer")
    while waiting := grouping.open():
        said = {}
        for one in waiting:
            wanted = world.planted[truth[one.place.case, cases[one.place.case][one.place.step].name]].signature
            said[one.place] = next(
                (own for own in one.choices if (tuple(sorted(own.kinds)), own.output) == wanted), None
            )
        grouping.place(said)
    return sorted((tuple(sorted(group.signature.kinds)), group.signature.output) for group in grouping.groups())


def planted(world: World) -> list[tuple[tuple[str, ...], str]]:
    return sorted(one.signature for one in world.planted)


@pytest.mark.slow
def test_all_kinds_known_every_planted_signature_is_found() -> None:
    for seed in SEEDS:
        world = world_of(seed)
        assert grouped(world) == planted(world), seed


@pytest.mark.slow
@pytest.mark.parametrize("weak", [0.2, 0.4])
def test_some_kinds_weakened_nearly_every_world_is_found(weak: float) -> None:
    found = [grouped(world) == planted(world) for world in (world_of(seed, weak) for seed in SEEDS)]
    assert sum(found) >= 0.95 * len(found), [seed for seed, one in zip(SEEDS, found, strict=True) if not one]


@pytest.mark.slow
@pytest.mark.parametrize("seed", FEW)
def test_from_cases_to_a_library(seed: int, tmp_path: Path) -> None:
    world = World(seed, operators=4 + seed % 3, cases=20, weak=0.2 * (seed % 2))
    done = extract(tmp_path, world)
    assert recovered(done.report) == planted(world)
    assert recovered(done.report, "operators") == planted(world)
    # A step whose kind a case weakens to Text may be taken for that of another operator, behind which the next one does not fit.
    for part in ("extraction", "probe"):
        assert done.report["coverage"][part]["share"] >= (0.6 if world.weak else 1)
    assert read_library(done.library, "operators.yaml").problem is None
    assert len(read_library(done.library, "operators.yaml").operators) == len(world.planted)
    assert len([name for name in done.files if name.startswith("cases/")]) == 20
    for name, text in done.files.items():
        assert analyse(text).errors == [], name
