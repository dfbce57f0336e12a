"""Outputs that a person sets: they hold in that run and those made from it, and everything says whose they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, flowchart, workflow

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.provenance import PERSON, PERSON_ORIGIN, answered_by
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.memory import MemoryStore

NAMES = ("A", "B", "C")
CHAIN = (*(f'{name}@{{op: Custom, prompt: "{name}"}}' for name in NAMES), "PROBLEM --> A --> B --> C --> RETURN")
CHECKED = (
    'A@{op: Custom, prompt: "A"}',
    'YES@{op: Custom, prompt: "YES"}',
    'NO@{op: Custom, prompt: "NO"}',
    'CHECK{"Is it polite?"}',
    "PROBLEM --> A --> CHECK",
    "CHECK -->|yes| YES",
    "CHECK -->|no| NO",
    "YES & NO --> RETURN",
)
SEVERAL = (
    "A@{op: Review}",
    'B@{op: Custom, prompt: "B"}',
    "PROBLEM -->|problem| A",
    "PROBLEM -->|solution| A",
    "A -->|feedback:input| B",
    "B --> RETURN",
)


def endpoint(fails_at: str = "") -> FakeEndpoint:
    def answer(request: ModelRequest) -> ModelReply | Exception:
        node = request.messages[0].content.partition("\n")[0]
        return EndpointFailure("out of order") if node == fails_at else ModelReply(f"{node} answered")

    return FakeEndpoint(answer)


def asked(endpoint: FakeEndpoint) -> list[str]:
    return [request.messages[0].content.partition("\n")[0] for request in endpoint.seen]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = MemoryStore()
    yield store
    store.close()


async def run(
    lines: tuple[str, ...], real: FakeEndpoint, store: MemoryStore, **options: object
) -> merrow_runtime.RunResult:
    return await merrow_runtime.run(
        workflow(*lines),
        {"problem": "x"},
        options=RunOptions(**options),
        endpoint=real,
        store=store,  # type: ignore[arg-type]
    )


async def test_a_node_whose_output_is_set_is_not_asked_and_says_who_answered(store: MemoryStore) -> None:
    real = endpoint()
    result = await run(CHAIN, real, store, set_outputs={"b": "mine"})
    assert asked(real) == ["A", "C"]
    assert "mine" in real.seen[-1].messages[-1].content
    assert result.nodes["B"].outputs == {"response": "mine"}
    assert result.nodes["B"].sources == (PERSON,)
    assert result.nodes["B"].why_no_call == "A person set what it gives."
    assert PERSON in result.sources
    assert answered_by([PERSON]) == "a person"


async def test_events_say_that_a_person_answered(store: MemoryStore) -> None:
    begun = merrow_runtime.start(
        workflow(*CHAIN),
        {"problem": "x"},
        options=RunOptions(set_outputs={"B": "mine"}),
        endpoint=endpoint(),
        store=store,
    )
    ended = {event.node: event.data async for event in begun.events() if event.event == "node_finished"}
    assert ended["B"]["sources"] == [{"endpoint": PERSON_ORIGIN, "model": ""}]
    assert ended["A"]["sources"][0]["endpoint"] != PERSON_ORIGIN


async def test_a_run_made_from_another_asks_only_what_the_set_output_changes(store: MemoryStore) -> None:
    first = await run(CHAIN, endpoint(), store)
    real = endpoint()
    await run(CHAIN, real, store, from_run=first.run, set_outputs={"B": "mine"})
    assert asked(real) == ["C"]


async def test_what_is_set_holds_in_runs_made_from_it_until_one_runs_from_the_node(store: MemoryStore) -> None:
    first = await run(CHAIN, endpoint(), store, set_outputs={"B": "mine"})
    for from_node, before, expected in (
        ("C", first.run, ["C"]),
        ("A", first.run, ["A", "C"]),
        ("B", first.run, ["B", "C"]),
    ):
        real = endpoint()
        later = await run(CHAIN, real, store, from_run=before, from_node=from_node)
        assert asked(real) == expected
        assert later.nodes["B"].outputs == {"response": "B answered" if from_node == "B" else "mine"}
    again = await run(CHAIN, endpoint(), store, from_run=later.run)
    assert again.nodes["B"].outputs == {"response": "B answered"}


async def test_a_resumed_run_has_what_was_set(store: MemoryStore) -> None:
    failed = await run(CHAIN, endpoint("C"), store, set_outputs={"B": "mine"})
    assert failed.status == "failed"
    resumed = await merrow_runtime.resume(failed.run, endpoint=endpoint(), store=store).result()
    assert resumed.status == "finished", resumed.error
    assert resumed.nodes["B"].outputs == {"response": "mine"}
    assert resumed.nodes["B"].sources == (PERSON,)
    assert PERSON in resumed.sources


async def test_what_a_person_said_of_one_node_is_not_reused_for_another(store: MemoryStore) -> None:
    first = await run(CHAIN, endpoint(), store, set_outputs={"B": "mine"})
    renamed = tuple(line.replace("B@{", "D@{").replace("--> B -->", "--> D -->") for line in CHAIN)
    real = endpoint()
    second = await run(renamed, real, store, from_run=first.run)
    assert asked(real)[0] == "B"
    assert second.nodes["D"].outputs == {"response": "B answered"}


async def test_what_does_not_fit_the_workflow_any_more_is_left_out_and_reported(store: MemoryStore) -> None:
    first = await run(CHAIN, endpoint(), store, set_outputs={"B": "mine"})
    shorter = ('A@{op: Custom, prompt: "A"}', "PROBLEM --> A --> RETURN")
    begun = merrow_runtime.start(
        workflow(*shorter), options=RunOptions(from_run=first.run), endpoint=endpoint(), store=store
    )
    notices = [notice async for event in begun.events() for notice in event.data.get("notices", ())]
    assert "What was set for B in the earlier run is left out. The workflow has no node B." in notices


@pytest.mark.parametrize(("said", "taken", "other"), [("no", "NO", "YES"), ("Yes", "YES", "NO")])
async def test_the_case_of_a_decision_that_asks_can_be_set(
    store: MemoryStore, said: str, taken: str, other: str
) -> None:
    real = endpoint()
    result = await run(CHECKED, real, store, set_outputs={"CHECK": said})
    assert asked(real) == ["A", taken]
    assert result.nodes["CHECK"].label == said.lower()
    assert result.nodes["CHECK"].sources == (PERSON,)
    assert result.nodes[other].status == "skipped"


async def test_the_case_of_a_decision_by_a_value_can_be_set(store: MemoryStore) -> None:
    lines = (
        "A@{op: Review}",
        *CHECKED[1:3],
        "CHECK{Accepted?}",
        "PROBLEM -->|problem| A",
        "PROBLEM -->|solution| A",
        "A -->|result| CHECK",
        *CHECKED[5:],
    )
    real = FakeEndpoint(lambda _: ModelReply('{"feedback": "good", "accepted": true}'))
    result = await run(lines, real, store, set_outputs={"CHECK": "no"})
    assert result.status == "finished", result.error
    assert (result.nodes["CHECK"].case, result.nodes["CHECK"].sources) == (1, (PERSON,))
    assert result.nodes["YES"].status == "skipped"


async def test_one_of_several_outputs_can_be_set_and_the_node_is_asked_for_the_others(store: MemoryStore) -> None:
    real = FakeEndpoint(lambda _: ModelReply('{"feedback": "theirs", "accepted": true}'))
    result = await run(SEVERAL, real, store, set_outputs={"A.result": "no"})
    assert result.nodes["A"].outputs == {"feedback": "theirs", "result": False}
    assert result.nodes["A"].sources[-1] == PERSON
    assert len(result.nodes["A"].sources) == 2
    assert len(real.seen) == 2


async def test_all_outputs_can_be_set_at_once(store: MemoryStore) -> None:
    real = endpoint()
    result = await run(SEVERAL, real, store, set_outputs={"A": '{"result": false, "feedback": "mine"}'})
    assert asked(real) == ["B"]
    assert result.nodes["A"].outputs == {"feedback": "mine", "result": False}


async def test_values_from_a_program_need_not_be_text(store: MemoryStore) -> None:
    real = endpoint()
    result = await run(SEVERAL, real, store, set_outputs={"A": {"result": False, "feedback": "mine"}})
    assert asked(real) == ["B"]
    assert result.nodes["A"].outputs == {"feedback": "mine", "result": False}


@pytest.mark.parametrize(
    ("lines", "said", "sentence"),
    [
        (CHAIN, {"X": "1"}, "The workflow has no node X."),
        (CHAIN, {"B.respnse": "1"}, "Node B has no output respnse. Did you mean response?"),
        (CHAIN, {"PROBLEM": "1"}, "PROBLEM is an input; set its value with: --input problem=..."),
        (CHAIN, {"RETURN": "1"}, "RETURN has no output of its own; set one of the node before it."),
        (CHECKED, {"CHECK": "maybe"}, "Decision CHECK has no case `maybe`; its cases are `yes`, `no`."),
        (SEVERAL, {"A.result": "perhaps"}, "The output A.result must be of type Bool:"),
    ],
)
async def test_what_can_not_be_set_is_said_before_anything_is_asked(
    store: MemoryStore, lines: tuple[str, ...], said: dict[str, str], sentence: str
) -> None:
    real = endpoint()
    with pytest.raises(UsageFailure) as met:
        await run(lines, real, store, set_outputs=said)
    assert str(met.value).startswith(sentence)
    assert not real.seen


def test_a_dry_run_asks_nothing_of_a_node_that_is_set() -> None:
    options = RunOptions(set_outputs={"B": "mine"})
    told = merrow_runtime.dry_run(workflow(*CHAIN), options=options, endpoint=endpoint())
    assert (told.calls.least, told.calls.most) == (2, 2)
    options = RunOptions(set_outputs={"CHECK": "no"})
    told = merrow_runtime.dry_run(workflow(*CHECKED), options=options, endpoint=endpoint())
    assert (told.calls.least, told.calls.most) == (2, 2)


@settings(max_examples=6, deadline=None)
@given(
    said=st.dictionaries(st.sampled_from(NAMES), st.text(max_size=5), max_size=3),
    later=st.dictionaries(st.sampled_from(NAMES), st.text(max_size=5), max_size=3),
    from_node=st.sampled_from([None, *NAMES]),
)
async def test_every_run_of_a_line_gives_what_was_set_last_and_asks_the_rest(
    said: dict[str, str], later: dict[str, str], from_node: str | None
) -> None:
    store = MemoryStore()
    try:
        first = await run(CHAIN, endpoint(), store, set_outputs=said)
        real = endpoint()
        second = await run(CHAIN, real, store, from_run=first.run, from_node=from_node, set_outputs=later)
    finally:
        store.close()
    holds = {name: text for name, text in said.items() if name != from_node} | later
    for name in NAMES:
        expected = holds.get(name, f"{name} answered")
        assert second.nodes[name].outputs == {"response": expected}
        assert (PERSON in second.nodes[name].sources) == (name in holds)
    assert not set(asked(real)) & set(holds)


class TestCalledFiles:
    """A node of a called file is named behind the Call."""

    FILES: ClassVar = {
        "main.mmd": flowchart(
            'ONE@{op: Call, workflow: "./f.mmd"}',
            'TWO@{op: Call, workflow: "./f.mmd"}',
            "PROBLEM --> ONE --> TWO --> RETURN",
        ),
        "f.mmd": flowchart(
            'A@{op: Custom, prompt: "A"}',
            'IN@{op: Call, workflow: "./g.mmd"}',
            "PROBLEM --> A --> IN --> RETURN",
            "PROBLEM@{type: Text}",
            "RETURN@{type: Text}",
        ),
        "g.mmd": flowchart(
            'B@{op: Custom, prompt: "B"}', "PROBLEM --> B --> RETURN", "PROBLEM@{type: Text}", "RETURN@{type: Text}"
        ),
    }

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "merrow.toml").touch()
        for name, text in self.FILES.items():
            (tmp_path / name).write_text(text)
        return tmp_path / "main.mmd"

    async def run(
        self, path: Path, real: FakeEndpoint, store: MemoryStore, **options: object
    ) -> merrow_runtime.RunResult:
        begun = merrow_runtime.start(
            path,
            {"problem": "x"},
            endpoint=real,
            store=store,
            options=RunOptions(**options),  # type: ignore[arg-type]
        )
        return await begun.result()

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ({"TWO/A": "mine"}, ["A", "B", "B"]),
            ({"one/A.response": "mine"}, ["A", "B", "B"]),
            ({"TWO/IN/B": "mine"}, ["A", "A", "B"]),
            ({"ONE/IN": "mine"}, ["A", "A", "B"]),
            ({"ONE/A": "mine", "TWO/A": "mine", "TWO/IN/B": "last"}, ["B"]),
        ],
    )
    async def test_a_node_in_it_is_not_asked(
        self, path: Path, store: MemoryStore, said: dict[str, str], expected: list[str]
    ) -> None:
        real = endpoint()
        result = await self.run(path, real, store, set_outputs=said)
        assert sorted(asked(real)) == expected
        assert PERSON in result.sources
        assert list(result.outputs.values()) == [
            "last" if len(said) == 3 else "mine" if "TWO/IN/B" in said else "B answered"
        ]

    async def test_with_an_earlier_run_only_what_it_changes_runs_again(self, path: Path, store: MemoryStore) -> None:
        first = await self.run(path, endpoint(), store)
        real = endpoint()
        second = await self.run(path, real, store, from_run=first.run, set_outputs={"TWO/A": "mine"})
        assert asked(real) == ["B"]
        assert "mine" in real.seen[-1].messages[-1].content
        # It holds in a run that is made from this one, and is over where the Call is run from itself on.
        real = endpoint()
        await self.run(path, real, store, from_run=second.run)
        assert asked(real) == []
        real = endpoint()
        third = await self.run(path, real, store, from_run=second.run, from_node="TWO")
        assert "A" in asked(real)
        assert PERSON not in third.sources

    async def test_a_later_run_without_it_does_not_take_its_result(self, path: Path, store: MemoryStore) -> None:
        await self.run(path, endpoint(), store, set_outputs={"ONE/IN/B": "mine"})
        result = await self.run(path, endpoint(), store)
        assert PERSON not in result.sources

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("ONE/NOPE", "has no node NOPE"),
            ("ONE/A.nope", "Node A has no output nope. Its outputs are: response."),
            ("ONE/PROBLEM", "PROBLEM is an input"),
            ("A/B", "has no node B"),
        ],
    )
    async def test_a_wrong_name_is_said(self, path: Path, store: MemoryStore, name: str, said: str) -> None:
        with pytest.raises(UsageFailure) as problem:
            await self.run(path, endpoint(), store, set_outputs={name: "x"})
        assert said in str(problem.value)

    def test_a_dry_run_counts_without_it(self, path: Path) -> None:
        def calls(**said: str) -> float:
            found = merrow_runtime.dry_run(
                path, {"problem": "x"}, options=RunOptions(set_outputs=said), endpoint=endpoint()
            )
            return found.calls.least

        assert calls() == 4
        assert calls(**{"TWO/A": "mine"}) == 3
        assert calls(**{"TWO/IN": "mine", "ONE/IN/B": "mine"}) == 2


async def test_a_text_that_begins_like_json_is_a_text(store: MemoryStore) -> None:
    for text in ("{not JSON", '{"a": ' * 100_000, '{"a": ' + "9" * 5_000 + "}"):
        result = await run(CHAIN, endpoint(), store, set_outputs={"B": text})
        assert result.status == "finished", result.error
        assert result.nodes["B"].outputs == {"response": text}
