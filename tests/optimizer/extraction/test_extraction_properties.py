"""What holds for every extraction, whatever is planted, however much is weakened, in whatever order cases and answers come."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.extraction.harness import Extracted, body_of, extract
from tests.optimizer.extraction.planted import World
from tests.runtime.engine.fakes import Said

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.libraries import read_library
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.extraction.deepening import PathStart, read_step
from merrow_optimizer.extraction.kinds import merged, signature
from merrow_optimizer.extraction.leaks import CaseLeaks
from merrow_optimizer.extraction.pooling import Deepened
from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return World(
        draw(st.integers(0, 10**6)),
        operators=draw(st.integers(3, 6)),
        cases=draw(st.integers(2, 9)),
        weak=draw(st.sampled_from([0.0, 0.2, 0.4, 1.0])),
        change=draw(st.sampled_from([None, less_of_it, other_than_asked])),
    )


def less_of_it(stage: str, chance: Random, said: Any) -> Any:
    """Deepening that puts operators together or drops them at random."""
    if stage == "deepening" and len(said["operators"]) > 1:
        gone = said["operators"].pop(chance.randrange(len(said["operators"])))["name"]
        target = chance.choice([None, *(one["name"] for one in said["operators"])])
        for one in said["mapping"]:
            if one["to"] == gone:
                one.update(to=target, reason="not essential")
    return said


def other_than_asked(_stage: str, chance: Random, said: Any) -> Any:
    """Answers of which some can't be used."""
    return chance.choice([said, said, "I can't.", {"steps": []}])


def extracted(world: World, settings_: Mapping[str, Any], shuffled: int | None) -> Extracted:
    """An extraction in a folder of its own; with ``shuffled`` in another order of cases, and of answers."""
    rows, chance = world.rows(), Random(shuffled)
    if shuffled is not None:
        chance.shuffle(rows)

    async def late(request: ModelRequest) -> Said:
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
        return ModelReply(world.answer(body_of(request)), usage=Usage(10, 5, 1, 0.0))

    with tempfile.TemporaryDirectory() as folder:
        answer = None if shuffled is None else late
        return extract(Path(folder), world, rows=rows, answer=answer, **settings_)


SETTINGS = st.fixed_dictionaries(
    {
        "paths": st.integers(1, 3),
        "steps": st.integers(1, 3),
        "coverage": st.sampled_from([0.5, 0.95, 1.0]),
        "without": st.sampled_from([(), (), ("clustering",), ("deep",)]),
    }
)


@settings(max_examples=4, deadline=None)
@given(worlds(), SETTINGS, st.integers(0, 10**6))
def test_no_order_has_a_say_and_all_that_is_written_checks(world: World, said: Any, order: int) -> None:
    done = extracted(world, said, None)
    other = extracted(world, said, order)
    assert (other.library, other.files) == (done.library, done.files)
    assert other.report == done.report
    outcome, plan = done.extractor.outcome, done.extractor.plan
    if done.report["why_nothing"] is not None:
        assert not done.files
        return
    if outcome.operators:
        assert read_library(done.library, "operators.yaml").problem is None
    probe = {case.id for case in plan.split.probe}
    assert all(place.case not in probe for one in outcome.named for place in one.group.members)
    for name, text in done.files.items():
        analysis = analyse(text)
        assert [one for one in analysis.diagnostics if one.severity is not Severity.HINT] == [], name
    for name, one in outcome.proved.items():
        # A rewritten case has the edges of its steps, and a node whose step has an operator of the set names it.
        steps = outcome.steps[name]
        ids = {step.name: f"S{number}" for number, step in enumerate(steps, 1)}
        wanted = Counter((ids.get(source, source), ids[step.name]) for step in steps for source in step.reads)
        graph = graph_of(analyse(one.rewritten.text))
        found = Counter((edge.source.id, edge.target.id) for edge in graph.edges if edge.target.id != "RETURN")
        assert found == wanted
        for step, operator in one.rewritten.mapped.items():
            assert graph.by_id[ids[step]].operator == operator.name
        assert one.is_covered <= one.rewritten.is_whole
    covered = done.report["coverage"]["extraction"]["covered"]
    assert covered == sum(one.is_covered for name, one in outcome.proved.items() if name not in probe)


def graph_of(analysis: Analysis) -> Any:
    assert analysis.typed is not None
    return analysis.typed


NAMES = ("One", "Two", "Three", "Four", "Five")
GROUND = [
    Deepened(name, "Do it.", signature(["Problem"], ("Plan", "Answer")[number % 2]), frozenset({number}))
    for number, name in enumerate(NAMES)
]
ENTRIES = st.fixed_dictionaries(
    {
        "from": st.sampled_from([*NAMES, "Nobody", "one"]),
        "to": st.sampled_from([None, "A", "B", "C", "Nobody", ""]),
        "reason": st.sampled_from(["", "rare", None]),
    }
)


@settings(max_examples=75, deadline=None)
@given(
    st.lists(st.sampled_from(["A", "B", "C", "D", "E", "F"]), max_size=7),
    st.one_of(
        st.lists(ENTRIES, max_size=7),
        st.permutations(NAMES).flatmap(
            lambda names: st.tuples(*(ENTRIES.map(lambda one, name=name: {**one, "from": name}) for name in names)).map(
                list
            )
        ),
    ),
)
def test_a_mapping_is_taken_only_if_it_is_total_and_widens_nothing(operators: list[str], mapping: list[Any]) -> None:
    ground = PathStart(
        GROUND,
        {one: GROUND[one].signature for one in range(5)},
        dict.fromkeys(range(5), ()),
        CaseLeaks([], is_code=False),
    )
    try:
        found, mapped = read_step(
            {"operators": [{"name": name, "prompt": "Do it."} for name in operators], "mapping": mapping},
            GROUND,
            ground,
        )
    except AnswerRefused:
        return
    assert [one.source for one in mapped] == list(NAMES)
    assert {one.name for one in found} == {one.target for one in mapped if one.target is not None} == set(operators)
    assert len(found) <= len(NAMES)
    assert all(one.target is not None or one.reason for one in mapped)
    for one in found:
        members = [GROUND[source].signature for source in sorted(one.sources)]
        assert one.signature == merged(members)
        assert {member.output for member in members} == {one.signature.output}
    assert sorted(source for one in found for source in one.sources) == [
        number for number, one in enumerate(mapped) if one.target is not None
    ]
