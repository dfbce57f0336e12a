"""Runs that ask people: they wait, others go on, and answers are used once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.composites.loops import box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint, flowchart
from tests.runtime.people.asking import MOOD, Asking, by_name, person, reviewed, three

import merrow_runtime
from merrow_runtime import RunOptions, Workflow, check_workflow
from merrow_runtime.errors import NodeFailure, UsageFailure
from merrow_runtime.people.answering import LONGEST_ANSWER, answer, open_questions
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

ONE = flow(custom("A"), person("ASK"), custom("B"), "PROBLEM --> A --> ASK --> B --> RETURN")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "runs.sqlite", spare=False)) as opened:
        yield opened


async def test_a_run_waits_for_an_answer_and_goes_on_with_it(store: Store) -> None:
    run = Asking(store, ONE)
    waiting = await run.begin()
    assert (waiting.status, waiting.outputs, run.asked) == ("waiting", {}, ["A"])
    (asked,) = run.events("node_asked")
    assert (asked.node, asked.data["question"], asked.data["due"]) == ("ASK", "ASK?", None)
    assert asked.data["shown"] == [{"title": "Input", "text": "A(x)"}]
    assert asked.data["schema"]["properties"]["answer"]["type"] == "string"
    last = run.told[-1]
    assert last.event == "run_waiting"
    assert [ask["node"] for ask in last.data["asks"]] == ["ASK"]
    record = store.run(run.run)
    assert (record.status, record.ended, record.usage.calls) == ("waiting", None, 1)
    assert [found.id for found in store.waiting()] == [run.run]
    run.answer("ASK", "send it", by="ann")
    assert store.ready() == [run.run]
    ended = await run.go_on()
    assert (ended.status, ended.outputs) == ("finished", {"RETURN": "B(send it)"}), ended.error
    assert run.asked == ["A", "B"]
    assert [event.data["by"] for event in run.events("node_answered")] == ["ann"]
    assert ended.nodes["ASK"].outputs == {"answer": "send it", "note": ""}
    assert store.waiting() == []
    assert store.ready() == []
    call = next(call for call in store.calls(run.run) if call.kind == "person")
    assert call.result == {"action": "accept", "content": {"answer": "send it"}, "by": "ann"}


async def test_nobody_is_asked_again_by_a_resume_without_an_answer(store: Store) -> None:
    run = Asking(store, ONE)
    await run.begin()
    (before,) = store.asks(run.run)
    assert (await run.go_on()).status == "waiting"
    assert store.asks(run.run) == [before]
    assert run.asked == ["A"]


async def test_other_branches_go_on_and_each_question_is_answered_on_its_own(store: Store) -> None:
    run = Asking(store, three())
    await run.begin()
    assert run.asked == ["BESIDE", "AFTER"]
    assert sorted(run.open) == ["ONE", "THREE", "TWO"]
    for name in ("TWO", "ONE", "THREE"):
        assert name in run.open
        run.answer(name, f"answer {name}")
        await run.go_on()
    assert store.run(run.run).status == "finished"
    assert run.asked == ["BESIDE", "AFTER", "END"]
    assert len(store.asks(run.run)) == 3


async def test_in_a_loop_each_turn_asks(store: Store) -> None:
    run = Asking(store, reviewed())
    await run.begin()
    for turn in (1, 2, 3):
        assert run.open == [f"L[{turn}]/LOOK"]
        run.answer("LOOK", "good" if turn == 3 else "bad")
        await run.go_on()
    assert store.run(run.run).status == "finished"
    assert run.asked == ["WRITE"] * 3
    assert [ask.visit.name for ask in store.asks(run.run)] == [f"L[{turn}]/LOOK" for turn in (1, 2, 3)]


@pytest.mark.parametrize("parallel", [1, 2, 5])
async def test_an_item_that_waits_keeps_its_place_of_a_map(store: Store, parallel: int) -> None:
    mapped = flow(
        'LIST["Custom (prompt: LIST, returns: list[Text])"]:::CustomOp',
        box("M", f"Map (parallel: {parallel})", person("ASK"), custom("WORK")),
        custom("ALL"),
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| ASK",
        "ASK -->|input| WORK",
        "WORK -->|input| ALL --> RETURN",
    )

    def listed(request: ModelRequest) -> str:
        return '{"response": ["a", "b", "c", "d"]}' if "LIST" in request.messages[0].content else by_name(request)

    run = Asking(store, mapped, FakeEndpoint(listed))
    await run.begin()
    answered = []
    while run.open:
        assert len(run.open) == min(parallel, 4 - len(answered))
        name = run.open[-1]
        run.answer(name, f"for {name}")
        answered.append(name)
        await run.go_on()
    assert sorted(answered) == [f"M[{number}]/ASK" for number in (1, 2, 3, 4)]
    ended = store.run(run.run)
    assert ended.status == "finished"
    assert run.asked.count("WORK") == 4
    assert [f"for M[{number}]/ASK" in ended.outputs["RETURN"] for number in (1, 2, 3, 4)] == [True] * 4  # type: ignore[index]


async def test_a_call_whose_inside_waits_waits(store: Store, tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").touch()
    (tmp_path / "inner.mmd").write_text(flowchart(person("ASK"), custom("IN"), "PROBLEM --> ASK --> IN --> RETURN"))
    (tmp_path / "main.mmd").write_text(
        flowchart(
            'LIST["Custom (prompt: LIST, returns: list[Problem])"]:::CustomOp',
            'subgraph M["Map ()"]',
            '    GO@{op: Call, workflow: "./inner.mmd"}',
            "end",
            custom("ALL"),
            "PROBLEM -->|input| LIST",
            "LIST -->|each:PROBLEM| GO",
            "GO -->|input| ALL --> RETURN",
        )
    )

    def listed(request: ModelRequest) -> str:
        return '{"response": ["a", "b"]}' if "LIST" in request.messages[0].content else by_name(request)

    run = Asking(store, tmp_path / "main.mmd", FakeEndpoint(listed))
    await run.begin()
    assert run.open == ["M[1]/GO/ASK", "M[2]/GO/ASK"]
    with pytest.raises(
        UsageFailure, match=r"Several visits of ASK ask; name one of them as in M\[1\]/GO/ASK and M\[2\]/GO/ASK"
    ):
        run.answer("ASK")
    run.answer("M[2]/GO/ASK", "two")
    assert (await run.go_on()).status == "waiting"
    run.answer("ASK")
    assert (await run.go_on()).status == "finished"
    assert run.asked == ["LIST", "IN", "IN", "ALL"]


async def test_samples_of_a_call_that_wait_leave_the_run_waiting(store: Store, tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").touch()
    (tmp_path / "inner.mmd").write_text(flowchart(custom("IN"), person("ASK"), "PROBLEM --> IN --> ASK --> RETURN"))
    (tmp_path / "main.mmd").write_text(
        flowchart(
            'GO@{op: Call, workflow: "./inner.mmd"}',
            custom("BESIDE", "samples: 3"),
            custom("END"),
            "PROBLEM -->|PROBLEM| GO",
            "PROBLEM --> BESIDE",
            "GO & BESIDE --> END --> RETURN",
        )
    )
    run = Asking(store, tmp_path / "main.mmd")
    assert (await run.begin(fresh=True)).status == "waiting"
    assert run.open == ["GO/ASK"]
    assert sorted(run.asked) == ["BESIDE", "BESIDE", "BESIDE", "IN"]
    run.answer("ASK")
    assert (await run.go_on()).status == "finished"


async def test_answers_in_another_process_are_seen_while_others_are_at_work(store: Store, tmp_path: Path) -> None:
    """The run is held by its slow branch when the answer comes."""
    gate = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        if "SLOW" in request.messages[0].content:
            await gate.wait()
        return by_name(request)

    beside = flow(
        *(custom(name) for name in ("SLOW", "B", "END")),
        person("ASK"),
        "PROBLEM --> SLOW & ASK",
        "ASK --> B",
        "SLOW & B --> END --> RETURN",
    )
    endpoint = FakeEndpoint(slow)
    begun = merrow_runtime.start(beside, {"problem": "x"}, endpoint=endpoint, store=store)
    events = begun.events()
    async for event in events:
        if event.event == "node_asked":
            break
    with closing(Store.open(tmp_path / "runs.sqlite", spare=False)) as other:
        answer(other, begun.id, "ASK", "yes", "bob")
    async for event in events:
        if (event.event, event.node) == ("node_finished", "B"):
            gate.set()
    assert (await asyncio.wait_for(begun.result(), PATIENCE)).status == "finished"


async def test_a_run_that_is_attended_stays_and_looks_when_it_is_told_to(store: Store) -> None:
    begun = merrow_runtime.start(ONE, {"problem": "x"}, endpoint=FakeEndpoint(by_name), store=store)
    begun.is_attended = True
    async for event in begun.events():
        if event.event == "node_asked":
            answer(store, begun.id, "ASK", "yes", "ann")
            begun.look()
    assert (await begun.result()).outputs == {"RETURN": "B(yes)"}
    again = merrow_runtime.start(ONE, {"problem": "y"}, endpoint=FakeEndpoint(by_name), store=store)
    again.is_attended = True
    async for event in again.events():
        if event.event == "node_asked":
            again.is_attended = False  # whoever attended it has gone
            again.look()
    assert (await again.result()).status == "waiting"


# Who answers, and what


async def test_the_first_who_answers_has_answered(store: Store, tmp_path: Path) -> None:
    run = Asking(store, ONE)
    await run.begin()
    (ask,) = open_questions(store, run.run)
    with closing(Store.open(tmp_path / "runs.sqlite", spare=False)) as other:
        assert store.answer(ask, {"answer": "mine"}, "ann")[0]
        is_first, as_it_is = other.answer(ask, {"answer": "no, mine"}, "bob")
    assert (is_first, as_it_is.by, as_it_is.answer) == (False, "ann", {"answer": "mine"})
    with pytest.raises(UsageFailure, match=r"ann has answered the question of ASK in run \S+ already\."):
        run.answer("ASK", by="bob")
    assert (await run.go_on()).outputs == {"RETURN": "B(mine)"}
    with pytest.raises(UsageFailure, match=r"ann has answered"):
        run.answer("ASK", by="bob")


async def test_what_can_not_be_answered_is_said_in_a_sentence(store: Store) -> None:
    run = Asking(store, flow(person("ASK", "returns: Mood"), "PROBLEM -->|input| ASK --> RETURN", front=MOOD))
    await run.begin()
    for given, why in (
        ("maybe", r"The answer to ASK does not fit\. `answer` must be one of `good`, `bad`\."),
        ({"mood": "good"}, r"The answer to ASK does not fit\. `answer` is missing"),
        ({"answer": 3}, r"The answer to ASK does not fit\."),
        ("x" * (LONGEST_ANSWER + 1), r"The answer to ASK has 1,000,001 characters; an answer has at most 1,000,000\."),
        (
            {"answer": "good", "note": "x" * 10_000_000},
            r"The answer to ASK does not fit\. `note` must be a text of at most",
        ),
    ):
        with pytest.raises(UsageFailure, match=why):
            run.answer("ASK", given)
    with pytest.raises(UsageFailure, match=r"Node ASC of run \S+ asks nothing\. Did you mean ASK\?"):
        run.answer("ASC")
    with pytest.raises(UsageFailure, match=r"There is no run 'nobody' in the journal"):
        answer(store, "nobody", "ASK", "good")
    run.answer("ask", "Good")
    await run.go_on()
    finished = Asking(store, flow(custom("A"), "PROBLEM --> A --> RETURN"))
    await finished.begin()
    with pytest.raises(UsageFailure, match=r"Run \S+ is finished, so it does not wait for an answer\."):
        finished.answer("A")


async def test_a_person_may_decline_and_on_error_says_what_follows(store: Store) -> None:
    declined = Asking(store, ONE)
    await declined.begin()
    declined.answer("ASK", None)
    ended = await declined.go_on()
    assert ended.status == "failed"
    assert ended.error == "Node ASK: ann declined to answer its question."
    assert (await declined.go_on()).error == ended.error
    kept = Asking(store, flow(person("ASK", 'on_error: default, default: "none"'), "PROBLEM --> ASK --> RETURN"))
    await kept.begin()
    kept.answer("ASK", None)
    assert (await kept.go_on()).outputs == {"RETURN": "none"}


async def test_an_invalid_answer_is_asked_for_again_with_the_reasons(store: Store) -> None:
    front = '{validators: {long: {if: "len(output) > 3"}}}'
    run = Asking(store, flow(person("ASK", "validate: long"), "PROBLEM --> ASK --> RETURN", front=front))
    await run.begin()
    run.answer("ASK", "no")
    assert (await run.go_on()).status == "waiting"
    (again,) = open_questions(store, run.run)
    assert "len(output) > 3" in again.question["problems"][0]
    run.answer("ASK", "because")
    assert (await run.go_on()).outputs == {"RETURN": "because"}
    assert [ask.key.step for ask in store.asks(run.run)] == ["ask", "2/ask"]


# Deadlines


async def test_past_its_deadline_a_question_is_closed_and_the_node_fails(store: Store) -> None:
    run = Asking(store, flow(person("ASK", "deadline: 1h"), "PROBLEM --> ASK --> RETURN"))
    await run.begin()
    (ask,) = open_questions(store, run.run)
    assert ask.due is not None
    assert ask.due - ask.asked == 3600
    assert store.ready() == []
    store._writer.now(lambda database: database.execute("UPDATE asks SET due = 1"))
    assert store.ready() == [run.run]
    assert run.open == []
    with pytest.raises(UsageFailure, match=r"The deadline of the question of ASK in run \S+ has passed\."):
        run.answer("ASK")
    ended = await run.go_on()
    assert (ended.status, ended.error) == (
        "failed",
        "Node ASK: nobody answered its question within its `deadline` of 1h.",
    )
    assert [(call.kind, call.result["action"]) for call in store.calls(run.run)] == [("person", "expire")]


async def test_an_answer_that_was_committed_before_the_deadline_counts(store: Store) -> None:
    run = Asking(store, flow(person("ASK", "deadline: 1h"), "PROBLEM --> ASK --> RETURN"))
    await run.begin()
    run.answer("ASK", "in time")
    store._writer.now(lambda database: database.execute("UPDATE asks SET due = 1"))
    assert (await run.go_on()).outputs == {"RETURN": "in time"}


async def test_a_deadline_passes_while_a_process_waits(store: Store) -> None:
    late = flow(person("ASK", 'deadline: 0.2, on_error: default, default: "expired"'), "PROBLEM --> ASK --> RETURN")
    begun = merrow_runtime.start(late, {"problem": "x"}, endpoint=FakeEndpoint(by_name), store=store)
    begun.is_attended = True
    assert (await asyncio.wait_for(begun.result(), PATIENCE)).outputs == {"RETURN": "expired"}


async def test_time_that_people_take_is_not_the_runs(store: Store) -> None:
    slow = flow(person("ASK", "deadline: 1"), custom("B"), "PROBLEM --> ASK --> B --> RETURN")
    options = RunOptions(budget_seconds=0.5)
    begun = merrow_runtime.start(slow, {"problem": "x"}, endpoint=FakeEndpoint(by_name), store=store, options=options)
    begun.is_attended = True
    ended = await asyncio.wait_for(begun.result(), PATIENCE)
    # Its deadline came, and not the end of what the budget allows, which is shorter.
    assert ended.error == "Node ASK: nobody answered its question within its `deadline` of 1."
    assert ended.seconds < 0.9


# Ends, and changes


async def test_a_failure_elsewhere_withdraws_what_nobody_needs(store: Store) -> None:
    def fails(request: ModelRequest) -> str | Exception:
        return by_name(request) if failing is None else failing

    failing: Exception | None = NodeFailure("no")
    run = Asking(store, three(), FakeEndpoint(fails))
    ended = await run.begin()
    assert ended.status == "failed"
    assert {ask.state for ask in store.asks(run.run)} == {"withdrawn"}
    with pytest.raises(UsageFailure, match="was withdrawn"):
        run.answer("ONE")
    failing = None
    assert (await run.go_on()).status == "waiting"
    assert [(ask.state, ask.number) for ask in store.asks(run.run)] == [("asked", 1), ("asked", 2), ("asked", 3)]


async def test_a_waiting_run_can_be_cancelled(store: Store) -> None:
    run = Asking(store, ONE)
    await run.begin()
    assert store.request_cancel(run.run) is False
    assert store.run(run.run).status == "cancelled"
    assert store.waiting() == []
    with pytest.raises(UsageFailure, match=r"was withdrawn"):
        run.answer("ASK")
    assert (await run.go_on()).status == "waiting"
    run.answer("ASK")
    assert (await run.go_on()).status == "finished"


async def test_a_revision_that_withdraws_a_question_closes_it(store: Store) -> None:
    other = flow(custom("A"), person("ASK2"), custom("B"), "PROBLEM --> A --> ASK2 --> B --> RETURN")
    begun = merrow_runtime.start(ONE, {"problem": "x"}, endpoint=FakeEndpoint(by_name), store=store)
    begun.is_attended = True
    async for event in begun.events():
        if (event.event, event.node) == ("node_asked", "ASK"):
            revised = await begun.revise(other)
            assert revised.state == "applied", revised.reason
        elif event.event == "node_asked":
            assert [(ask.visit.node, ask.state) for ask in store.asks(begun.id)] == [
                ("ASK", "withdrawn"),
                ("ASK2", "asked"),
            ]
            answer(store, begun.id, "ASK2", "yes", "ann")
            begun.look()
    assert (await begun.result()).outputs == {"RETURN": "B(yes)"}
    with pytest.raises(UsageFailure, match="was withdrawn"):
        answer(store, begun.id, "ASK", "yes", "ann")


async def test_a_node_that_a_revision_renames_asks_by_its_new_name(store: Store) -> None:
    renamed = flow(custom("A"), 'ASKS@{op: Human, ask: "ASK?"}', custom("B"), "PROBLEM --> A --> ASKS --> B --> RETURN")
    begun = merrow_runtime.start(ONE, {"problem": "x"}, endpoint=FakeEndpoint(by_name), store=store)
    begun.is_attended = True
    async for event in begun.events():
        if (event.event, event.node) == ("node_asked", "ASK"):
            assert (await begun.revise(renamed)).state == "applied"
        elif event.event == "node_asked":
            begun.is_attended = False
            begun.look()
    assert (await begun.result()).status == "waiting"
    assert [(ask.visit.node, ask.state) for ask in store.asks(begun.id)] == [("ASK", "withdrawn"), ("ASKS", "asked")]
    answer(store, begun.id, "ASKS", "yes", "ann")
    ended = await merrow_runtime.resume(begun.id, endpoint=FakeEndpoint(by_name), store=store).result()
    assert ended.outputs == {"RETURN": "B(yes)"}


async def test_a_question_that_a_revision_leaves_alone_stays_asked(store: Store) -> None:
    other = flow(custom("A"), person("ASK"), custom("C"), "PROBLEM --> A --> ASK --> C --> RETURN")
    begun = merrow_runtime.start(ONE, {"problem": "x"}, endpoint=FakeEndpoint(by_name), store=store)
    begun.is_attended = True
    async for event in begun.events():
        if event.event == "node_asked":
            assert (await begun.revise(other)).state == "applied"
            begun.is_attended = False
            begun.look()
    assert (await begun.result()).status == "waiting"
    assert [(ask.number, ask.state) for ask in store.asks(begun.id)] == [(1, "asked")]
    answer(store, begun.id, "ASK", "yes", "ann")
    ended = await merrow_runtime.resume(begun.id, endpoint=FakeEndpoint(by_name), store=store).result()
    assert ended.outputs == {"RETURN": "C(yes)"}


async def test_a_run_goes_on_with_the_workflow_that_it_has_whatever_becomes_of_its_file(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "w.mmd"
    file.write_text(flowchart(person("ASK"), custom("B"), "PROBLEM --> ASK --> B --> RETURN"))
    run = Asking(store, file)
    await run.begin()
    file.unlink()
    run.answer("ASK")
    assert (await run.go_on()).outputs == {"RETURN": "B(yes)"}


# What is kept of answers


async def test_a_recording_answers_in_the_place_of_people(store: Store, tmp_path: Path) -> None:
    run = Asking(store, ONE)
    await run.begin()
    run.answer("ASK", "recorded")
    await run.go_on(record=tmp_path / "r.jsonl")
    replayed = await merrow_runtime.run(
        ONE, {"problem": "x"}, options=RunOptions(replay=tmp_path / "r.jsonl"), store=MemoryStore()
    )
    assert replayed.outputs == {"RETURN": "B(recorded)"}, replayed.error
    assert [source.endpoint for source in replayed.sources] == ["merrow:replay"]
    other: Workflow = flow(
        custom("A"), person("ASK", "deadline: 2d"), custom("B"), "PROBLEM --> A --> ASK --> B --> RETURN"
    )
    assert other.graph is not ONE.graph
    again = await merrow_runtime.run(
        check_workflow(ONE.text.replace("ASK?", "Really?")),
        {"problem": "x"},
        options=RunOptions(replay=tmp_path / "r.jsonl"),
        store=MemoryStore(),
    )
    assert again.status == "failed"
    assert "has another request at node ASK" in (again.error or "")


async def test_an_answer_is_reused_from_an_earlier_run(store: Store) -> None:
    run = Asking(store, ONE)
    await run.begin()
    run.answer("ASK", "kept")
    await run.go_on()
    after = await merrow_runtime.run(
        ONE,
        {"problem": "x"},
        options=RunOptions(from_run=run.run, from_node="B"),
        endpoint=FakeEndpoint(by_name),
        store=store,
    )
    assert after.outputs == {"RETURN": "B(kept)"}
    again = Asking(store, ONE)
    assert (await again.begin(from_run=run.run, from_node="ASK")).status == "waiting"


async def test_what_a_person_sets_is_not_asked_for(store: Store) -> None:
    run = Asking(store, ONE)
    ended = await run.begin(set_outputs={"ASK": {"answer": "set", "note": ""}})
    assert ended.outputs == {"RETURN": "B(set)"}, ended.error
    assert store.asks(run.run) == []


async def test_questions_are_shown_harmless_and_have_an_end(store: Store) -> None:
    hostile = "\x1b[2J\u202e" + "x" * 2_000_000
    run = Asking(store, ONE, FakeEndpoint(lambda request: hostile if "A" in request.messages[0].content else "b"))
    await run.begin()
    (ask,) = open_questions(store, run.run)
    shown = ask.question["shown"][0]["text"]
    assert shown.startswith("\u241b[2J\ufffdxxx")
    assert "more characters are left out" in shown
    assert len(shown) < 21_000


async def test_a_person_edits_a_draft(store: Store) -> None:
    edit = flow(custom("A"), person("EDIT"), "PROBLEM --> A -->|draft| EDIT --> RETURN")
    run = Asking(store, edit)
    await run.begin()
    (ask,) = open_questions(store, run.run)
    assert ask.question["schema"]["properties"]["answer"]["default"] == "A(x)"
    run.answer("EDIT", "better\ntext")
    assert (await run.go_on()).outputs == {"RETURN": "better\ntext"}
    long = Asking(store, edit, FakeEndpoint(lambda _: "x" * 1_000_001))
    ended = await long.begin(fresh=True)
    assert ended.error == (
        "Node EDIT: the text at its port `draft` has 1,000,001 characters; a person can be asked to edit 1,000,000 at most."
    )


async def test_a_run_that_waits_is_never_pruned(store: Store) -> None:
    waiting, ended = Asking(store, ONE), Asking(store, flow(custom("A"), "PROBLEM --> A --> RETURN"))
    await waiting.begin()
    await ended.begin()
    store._writer.now(
        lambda database: database.execute("UPDATE runs SET started = 1, ended = 1 WHERE ended IS NOT NULL")
    )
    store._writer.now(lambda database: database.execute("UPDATE runs SET started = 1"))
    store.prune(0.0, 0)
    assert [run.id for run in store.runs()] == [waiting.run]
    # Nor one whose process was killed after it had asked.
    store._writer.now(lambda database: database.execute("UPDATE runs SET status = 'running'"))
    store.tidy(0.0, 0)
    assert [run.id for run in store.runs()] == [waiting.run]
    assert [run.id for run in store.waiting()] == [waiting.run]


async def test_a_record_with_a_note_of_its_own_is_no_note(store: Store) -> None:
    workflow = flow(
        person("ASK", "returns: Place"),
        custom("B"),
        "PROBLEM -->|input| ASK",
        "ASK -->|answer:input| B",
        "ASK -->|note:input| B",
        "B --> RETURN",
        front="{types: {Place: {town: Text, note: Text}}}",
    )
    run = Asking(store, workflow)
    await run.begin()
    run.answer("ASK", {"town": "Rome", "note": "old"})
    result = await run.go_on()
    assert result.status == "finished", result.error
    assert run.open == []
    asked = run.endpoint.seen[-1].messages[-1].content
    assert asked.count("old") == 1
    assert '"town": "Rome"' in asked


async def test_a_person_remembers_nothing_since_memory_is_for_models(store: Store) -> None:
    workflow = flow(
        custom("A"),
        custom("B"),
        person("ASK"),
        custom("C"),
        "PROBLEM -->|input| A",
        "A -->|input| B",
        "B -->|input| ASK",
        "ASK -->|input| C",
        "C --> RETURN",
        front="{memory: all}",
    )
    run = Asking(store, workflow)
    await run.begin()
    run.answer("ASK", "fine")
    await run.go_on()
    remembered = {record.node: len(record.memory) for record in store.nodes(run.run)}
    assert remembered["ASK"] == 0
    assert remembered["C"] > 0


async def test_a_sample_that_is_still_at_work_keeps_the_run_from_waiting(store: Store) -> None:
    begun: list[str] = []

    async def slow_at_last(request: ModelRequest) -> str:
        begun.append("")
        for _ in range(50 if len(begun) == 3 else 0):
            await asyncio.sleep(0)
        return by_name(request)

    lines = [custom("BESIDE", "samples: 3"), person("ASK"), custom("END"), "PROBLEM --> BESIDE & ASK"]
    run = Asking(store, flow(*lines, "BESIDE & ASK --> END --> RETURN"), FakeEndpoint(slow_at_last))
    assert (await run.begin()).status == "waiting"
    assert len([call for call in store.calls(run.run) if call.key.node == "BESIDE"]) == 3
