"""What a journal promises, whichever database has it: each test on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import PostgresServer
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import PAID, call, node, run

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.jobs import life
from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.requests import CallKey
from merrow_runtime.spending.ledger import ledger
from merrow_runtime.store.contract import AskRecord, FrameRecord, LoopRecord, RevisionRecord, RunFailed
from merrow_runtime.store.copying import copy
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.jobs import JobRecord
from merrow_runtime.store.optimizations import CandidateRecord, DrawRecord, OptimizationRecord, TrialRecord
from merrow_runtime.store.sql import Database
from merrow_runtime.store.writer import Writer
from merrow_runtime.usage import NOTHING, Usage


@pytest.fixture
def store(configured: str) -> Iterator[Store]:
    with closing(Store.open()) as opened:
        yield opened


def evaluation(identity: str = "ev1", **changes: object) -> EvaluationRecord:
    fields: dict[str, object] = {"plan": {"semantic": "s", "items": 2}, "started": time.time(), "status": "running"}
    given = {**fields, **changes}
    return EvaluationRecord(  # type: ignore[misc]
        identity, "/w.mmd", dataset="d", part="test", metric="exact", model="m", seed=0, repeats=1, **given
    )


def score(item: str, work: bytes = b"w", value: float | None = 1.0, **changes: object) -> ScoreRecord:
    given = {"run": f"ev1/{item}", "output": '"42"', **changes}
    return ScoreRecord(item, 0, "right", value, "42", "", PAID, 0.5, work=work, scored=b"s", **given)  # type: ignore[arg-type]


async def test_a_run_is_kept_with_all_that_it_came_by(store: Store) -> None:
    began = run(snapshot={"text": "x", "workflow": {"a": "\N{SNOWMAN}\x00"}, "inputs": {"problem": "6 * 7"}})
    journal = store.begin(began)
    await journal.record_definitions('{"SOLVE": {"operator": "Custom"}}')
    await journal.record_sent(call().key, "hash 0", Usage(10, 0, 1))
    kept = await journal.record_call(call(model="m\x00odel", endpoint="https://a.test"), b"k" * 16)
    assert kept.result == {"text": "42"}
    loop = LoopRecord("L", "", 2, 3, "until", False, 1.0, 4)
    await journal.record_told([node(), FrameRecord("turn_started", "L", "", 1, 3, 1.0, 2), loop])
    assert store.run("run-1").status == "running"
    await journal.finish("finished", {"response": "42 \x00"}, PAID, None, 1.5)
    await journal.close()
    ended = store.run("run-1")
    assert (ended.status, ended.outputs, ended.usage, ended.seconds) == ("finished", {"response": "42 \x00"}, PAID, 1.5)
    assert ended.snapshot == {**began.snapshot}
    assert [one.key for one in store.calls("run-1")] == [call().key]
    assert [one.definition for one in store.nodes("run-1")] == [{"operator": "Custom"}]
    assert store.ended("run-1")[1] == [loop]
    assert store.lost("run-1") == []
    assert [moment for moment, _ in store.times("run-1")] == [0.0]
    assert store.inputs(["run-1", "run-2"]) == {"run-1": {"problem": "6 * 7"}}
    assert store.tasks_changed() == {"run-1": None}


async def test_answers_are_found_by_their_keys_and_replaced(store: Store) -> None:
    journal = store.begin(run())
    await journal.record_call(call(), b"a" * 16)
    await journal.record_call(call(number=1, text="43"), b"a" * 16)
    assert await store.cache.get(b"a" * 16) == {"text": "43"}
    assert await store.cache.get(b"b" * 16) is None
    await journal.record_unusable(call(number=1), b"a" * 16)
    assert await store.cache.get(b"a" * 16, more=True) is None
    assert [one.usable for one in store.calls("run-1")] == [True, False]
    await journal.close()


async def test_a_run_that_was_left_is_taken_with_its_calls(store: Store) -> None:
    journal = store.begin(run())
    await journal.record_call(call(), b"k" * 16)
    await journal.record_sent(call(number=1).key, "hash 1", Usage(7, 0, 1))
    await journal.close()
    with pytest.raises(UsageFailure, match="There is a run run-1 already"):
        store.begin(run())
    record, again = store.take("run-1")
    assert (record.id, again.resumed, again.interrupted) == ("run-1", True, 1)
    assert again.spent() == PAID + Usage(7, 0, 1)
    known = await again.recall(call().key, "hash 0")
    assert known is not None
    assert known.result == {"text": "42"}
    assert await again.recall(call().key, "another") is None
    await again.record_lost(call(number=1).key, "hash 1", Usage(7, 0, 1), "timeout")
    await again.finish("failed", None, NOTHING, "no", failure=RunFailed("endpoint", "SOLVE"))
    await again.close()
    assert store.run("run-1").failure == RunFailed("endpoint", "SOLVE")
    assert sorted(why for *_, why in store.lost("run-1")) == ["sent", "timeout"]


async def test_one_process_works_on_a_run_and_another_may_ask_it_to_end(store: Store) -> None:
    journal = store.begin(run())
    with closing(Store.open()) as other:
        with pytest.raises(StoreFailure, match="is being worked on by process"):
            other.take("run-1")
        with pytest.raises(StoreFailure, match="still going on"):
            other.delete("run-1")
        assert other.request_cancel("run-1")
    journal._sign(store._database)
    assert journal.cancel_requested()
    await journal.close()
    store.delete("run-1")
    assert not store.has_runs


async def test_who_gave_no_sign_of_life_loses_the_run_and_writes_nothing_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = store.begin(run())
    store._writer.now(lambda database: database.execute("UPDATE holders SET host = 'elsewhere', beat = beat - 31"))
    with closing(Store.open()) as other:
        _, thawing = other.take("run-1")
        frozen._sign(store._database)
        with pytest.raises(StoreFailure, match="was taken over by another process"):
            await frozen.record_call(call())
        await thawing.record_call(call())
        await thawing.close()
    await frozen.close()


async def test_two_processes_that_know_nothing_of_each_other_use_the_call_that_was_kept_first(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", postgres.url())
    with closing(Store.open()) as store, closing(Store.open()) as other:
        frozen = store.begin(run())
        store._writer.now(lambda database: database.execute("UPDATE holders SET host = 'elsewhere', beat = beat - 31"))
        _, second = other.take("run-1")
        first = await second.record_call(call(text="second", started=2.0))
        # It has not looked yet at who has the run.
        mine = await frozen.record_call(call(text="first", started=1.0))
        assert (first.result, mine.result) == ({"text": "second"}, {"text": "second"})
        assert [one.result for one in store.calls("run-1")] == [{"text": "second"}]
        assert store.run("run-1").usage == PAID + PAID  # both were paid for
        # Asked again on purpose, as after a revision: that is another call, and it is kept.
        later = await second.record_call(call(text="third", started=3.0))
        assert later.result == {"text": "third"}
        assert (await frozen.record_call(call(text="fourth", started=4.0))).result == {"text": "third"}
        assert len(store.calls("run-1")) == 2
        await second.close()
        await frozen.close()


async def test_revisions_are_asked_for_decided_and_kept(store: Store) -> None:
    journal = store.begin(run())
    asked = store.add_revision("run-1", lambda number: RevisionRecord(number, "asked", "person", at=1.0))
    assert [one.number for one in journal.asked_revisions()] == [asked.number] == [1]
    await journal.record_revision(RevisionRecord(1, "waiting", "person", text='{"a": 1}', at=1.0), '{"N": {}}')
    assert store.decide_revision("run-1", 1, apply=True)
    assert not store.decide_revision("run-1", 1, apply=False)
    journal.update_revision(
        RevisionRecord(1, "applied", "person", adopted={"tasks": {"changed": ["A", "B", "C"]}}, at=1.0)
    )
    assert [one.state for one in store.revisions("run-1")] == ["applied"]
    assert store.tasks_changed() == {"run-1": 3}
    await journal.finish("finished", {}, NOTHING, None)
    with pytest.raises(UsageFailure, match="has finished"):
        store.add_revision("run-1", lambda number: RevisionRecord(number, "asked", "person"))
    await journal.close()


async def test_an_evaluation_has_runs_of_its_own_and_scores_by_their_keys(store: Store) -> None:
    store.evaluations.begin(evaluation())
    with closing(store.of_job("ev1")) as own, closing(store.of_job("ev1")) as second:
        for number, journal_of in enumerate((own, second)):
            journal = journal_of.begin(run(f"ev1/q{number}", snapshot={"inputs": {"problem": number}}))
            await journal.record_call(call(), b"%016d" % number)
            await journal.finish("finished", {"response": "42"}, PAID, None)
            await journal.close()
        assert [await store.cache.get(b"%016d" % number) for number in range(2)] == [{"text": "42"}] * 2
        assert (own.status("ev1/q0"), second.status("ev1/q0"), own.status("ev1/q9")) == ("finished", "finished", None)
        assert {one.id for one in own.runs()} == {"ev1/q0", "ev1/q1"}
        assert [len(own.calls(f"ev1/q{number}")) for number in range(2)] == [1, 1]
        assert life.is_open(store, "ev1")
    assert not life.is_open(store, "ev1")
    assert store.runs() == []
    assert [entry.kind for entry in store.listing.newest(9)] == ["evaluation"]
    await asyncio.gather(
        *(store.evaluations.keep("ev1", one) for one in (score("q0"), score("q1", value=None), score("q0", value=0.0)))
    )
    assert [(one.item, one.value) for one in store.evaluations.scores("ev1", outputs=True)] == [
        ("q1", None),
        ("q0", 0.0),
    ]
    assert [one.output for one in store.evaluations.known(b"w")] == ['"42"'] * 2
    assert store.evaluations.score("ev1", "q1", 0) is not None
    assert store.evaluations.readings("d", ["test"]) == 1
    assert store.evaluations.readings("d", ["test", "dev"], but="ev1") == 0
    store.evaluations.update("ev1", "finished", None, time.time(), 2.0)
    await store.evaluations.add_seconds("ev1", 0.5)
    assert store.evaluations.get("ev1").seconds == 2.5
    life.delete(store, store.evaluations, "ev1")
    with store.looking_into("ev1") as gone:
        assert gone is None
    assert store.evaluations.known(b"w") == []


async def test_scores_of_many_pages_are_in_the_order_they_came_and_those_of_one_evaluation(store: Store) -> None:
    for identity in ("ev1", "ev2"):
        store.evaluations.begin(replace(evaluation(), id=identity))
    assert list(store.evaluations.scores("ev1")) == []
    kept = [store.evaluations.keep(("ev1", "ev2")[n % 2], score(f"q{n}")) for n in range(2_202)]
    await asyncio.gather(*kept)
    scores = store.evaluations.scores("ev1", outputs=True)
    named = [f"q{n}" for n in range(0, 2_202, 2)]
    assert [one.item for one in scores] == named
    numbers = {one.item: number for number, one in scores.numbered()}
    await store.evaluations.keep("ev1", score("q4", value=0.0))
    assert [one.item for one in scores] == [name for name in named if name != "q4"]
    assert [one.item for one in store.evaluations.scores("ev1")] == [*[name for name in named if name != "q4"], "q4"]
    wanted = [numbers[name] for name in ("q2200", "q4", "q0", *named[5:99])]
    assert [one.item for one in store.evaluations.scored(wanted)] == ["q2200", "q0", *named[5:99]]


def test_a_journal_of_a_job_that_is_wanted_alone_is_refused_while_another_process_has_it(store: Store) -> None:
    with closing(store.of_job("ev1", alone=True)), pytest.raises(StoreFailure, match="worked on by process"):
        store.of_job("ev1", alone=True)
    store.of_job("ev1", alone=True).close()
    store.remove_journal("ev1")


async def test_a_search_keeps_draws_answers_and_what_was_proposed(store: Store) -> None:
    search = OptimizationRecord(
        "op1", "/w.mmd", "running", time.time(), "d", "train", "exact", "m", "climb", "none", 7, 2, {"a": 1}
    )
    store.optimizations.begin(search, "train", "semantic")
    candidate = CandidateRecord(0, (), "seed", "t", "key", 1, 2, None, "flowchart TD")
    store.optimizations.draw("op1", DrawRecord(1, 0, ((0, 0), (1, 0))), [candidate])
    for number in range(2):
        await store.optimizations.keep("op1", TrialRecord(0, 1, score(f"q{number}", work=b"t")))
    store.optimizations.outcome("op1", 1, [1.0, None])
    store.optimizations.applied("op1", 1, 0, 0.75, {0: 0.5})
    for said in ({"x": 1}, {"x": 2}):
        store.optimizations.propose("op1", 2, said)
    store.optimizations.over("op1", "budget")
    store.optimizations.conclude("op1", {"score": 1.0})
    assert store.optimizations.proposals("op1") == {2: {"x": 2}}
    assert store.optimizations.draws("op1") == [DrawRecord(1, 0, ((0, 0), (1, 0)), (1.0, None), 0, 0.75)]
    assert [one.told for one in store.optimizations.candidates("op1")] == [0.5]
    assert [one.score.item for one in store.optimizations.trials("op1")] == ["q0", "q1"]
    assert len(store.evaluations.known(b"t")) == 2
    assert (store.optimizations.get("op").over, store.optimizations.get("op1").held_out) == ("budget", {"score": 1.0})


async def test_jobs_of_other_kinds_keep_what_they_come_by(store: Store) -> None:
    began = time.time()
    store.extractions.begin(ExtractionRecord("x1", "/c.jsonl", "running", began, "d", "all", "exact", "m", "g", 0, {}))
    for kind in store.jobs:
        store.jobs[kind].begin(JobRecord(f"{kind}1", kind, "/w.mmd", "running", began, {"n": 1}))  # type: ignore[arg-type]
        await store.jobs[kind].keep(f"{kind}1", "k\ud800", {"a": 1})
        await store.jobs[kind].keep(f"{kind}1", "k\ud800", {"a": 2})
        assert store.jobs[kind].kept(f"{kind}1") == {"k\\ud800": {"a": 2}}
        store.jobs[kind].replan(f"{kind}1", {"n": 2})
        assert [one.plan for one in store.jobs[kind].newest()] == [{"n": 2}]
    await store.extractions.keep("x1", "k", {"b": 1})
    assert store.extractions.kept("x1") == {"k": {"b": 1}}
    assert store.extractions.older_than(-9.0) == ["x1"]
    assert {entry.kind for entry in store.listing.newest(9)} == {"extraction", *store.jobs}


def test_the_listing_has_every_kind_the_newest_first_and_finds_by_beginnings(store: Store) -> None:
    for number in range(4):
        store.begin(run(f"r{number}", started=10.0 + number, workflow="/w.mmd" if number else "/other.mmd"))
    store.evaluations.begin(evaluation("r_e", started=11.5))
    assert [entry.id for entry in store.listing.newest(4)] == ["r3", "r2", "r_e", "r1"]
    assert [entry.id for entry in store.listing.newest(9, "/w.mmd")] == ["r3", "r2", "r_e", "r1"]
    assert [one.id for one in store.runs(9, "/w.mmd")] == ["r3", "r2", "r1"]
    assert store.listing.exactly("r_e") is not None
    assert store.listing.has_below("r1")
    found = store.listing.find("r_")
    assert found is not None
    assert found.id == "r_e"
    with pytest.raises(UsageFailure, match="is the beginning of the ids of"):
        store.listing.find("r")
    with pytest.raises(UsageFailure, match="Several runs begin with"):
        store.run("r")
    assert store.evaluations.identity("r_") is None
    assert store.has_run_like("r1")


def test_labels_rankings_and_dialects_are_kept_and_replaced(store: Store) -> None:
    store.labels.put("i", '"42"', "good", note="fine")
    edition = store.labels.edition
    store.labels.put("i", '"42"', "bad")
    label = store.labels.label("i", '"42"')
    assert label == ("bad", "fine")
    assert store.labels.edition > edition
    store.labels.put("i", '"42"', "better", '"41"')
    store.labels.drop("i", '"42"')
    assert (store.labels.get("i", '"42"'), store.labels.get("i", '"42"', '"41"')) == (None, "better")
    for groups in ([["a"], ["b"]], [["b", "a"]]):
        store.rankings.put("i", "ann", groups)
    assert {who: [sorted(group) for group in said] for who, said in store.rankings.of("i", ["a", "b"]).items()} == {
        "ann": [["a", "b"]]
    }
    for learned in ({"a": 1}, {"a": 2}):
        store.dialects.put("https://a.test", "m", learned)
    assert store.dialects.get("https://a.test", "m") == {"a": 2}


def test_spending_is_one_sum_and_one_pace(configured: str) -> None:
    books = ledger()
    number = books.begin("/w.mmd", "https://a.test", "m", Usage(10, 0, 1, 0.25))
    assert [(one.usd, one.open) for one in books.spent()] == [(0.25, 1)]
    for paid in (0.5, 0.25):
        books.count("/w.mmd", "https://a.test", "m", Usage(10, 5, 1, paid), number)
        number = 0
    assert books.of_month() == 0.75
    assert [(one.calls, one.prompt_tokens, one.usd, one.open) for one in books.spent()] == [(2, 20, 0.75, 0)]
    limits = MinuteLimits(requests=2, tokens=None)
    permits = []
    for _ in range(2):
        assert books.refill("https://a.test", limits, 5) == 0
        permits.append(books.take("https://a.test", limits, 5))
    assert books.refill("https://a.test", limits, 5) > 0
    assert permits[0] is not None
    books.settle(permits[0], 9)
    books.flush()
    tokens = MinuteLimits(tokens=20)
    assert [books.refill("https://a.test", tokens, 7) > 0, books.refill("https://a.test", tokens, 6)] == [True, 0]
    books.pause("https://a.test", "m", 30)
    assert books.paused("https://a.test", "m") > 0
    books.begin("/w.mmd", "https://a.test", "m", Usage(10, 0, 1, 0.25))
    assert [(one.calls, one.open) for one in books.spent()] == [(2, 0), (1, 1)]


def test_the_oldest_are_pruned_when_somebody_asks_for_it(store: Store) -> None:
    for number in range(3):
        journal = store.begin(run(f"r{number}", started=time.time() - 86400 * (10 - number)))
        asyncio.run(_ended(journal))
    store._writer.now(lambda database: database.execute("UPDATE runs SET ended = started"))
    store.begin(run("now"))
    pruned = store.prune(86400 * 8.5, None)
    assert (pruned.runs, {one.id for one in store.runs()}) == (2, {"r2", "now"})
    assert pruned.bytes > 0


async def _ended(journal: object) -> None:
    await journal.finish("finished", {}, NOTHING, None)  # type: ignore[attr-defined]
    await journal.close()  # type: ignore[attr-defined]


async def test_a_workflow_runs_and_what_it_asked_is_known_to_the_next_run(store: Store) -> None:
    flow = workflow('A@{op: Custom, prompt: "one"}', 'B@{op: Custom, prompt: "two"}', "PROBLEM --> A --> B --> RETURN")
    endpoint = FakeEndpoint()
    for _ in range(2):
        done = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions())
        assert done.status == "finished"
    assert endpoint.finished == 2
    assert [one.usage.calls for one in store.runs()] == [0, 2]


def test_a_run_that_was_begun_is_there_with_its_workflow_whatever_becomes_of_the_process(store: Store) -> None:
    dies = (
        "import os; from merrow_runtime.store.database import Store; from tests.runtime.store.making import run;"
        " Store.open().begin(run(snapshot={'workflow': {'a': 1}})); os._exit(0)"
    )
    for identity in ("run-1", "run-2"):
        subprocess.run(
            [sys.executable, "-c", dies.replace("run(s", f"run('{identity}', s")], check=True, cwd=Path.cwd()
        )
        assert store.run(identity).snapshot == {"workflow": {"a": 1}}


KILLED = """
import asyncio, sys
from tests.runtime.store.making import call, run
from merrow_runtime.store.database import Store

async def main():
    journal = Store.open().begin(run())
    await journal.record_call(call(), b"k" * 16)
    print("kept", flush=True)
    await journal.record_sent(call(number=1).key, "hash 1", call().usage)
    print("sent", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_what_a_killed_process_had_kept_is_there(store: Store) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert process.stdout is not None
    with process:
        assert [process.stdout.readline() for _ in range(2)] == ["kept\n", "sent\n"]
        assert store.run("run-1").status == "running"
        process.send_signal(signal.SIGKILL)
    left = store.run("run-1")
    assert (left.status, left.usage.calls) == ("failed", 2)
    assert store.interrupted_calls() == 1
    _, journal = store.take("run-1")
    assert await journal.recall(call().key, "hash 0") is not None
    await journal.close()


def question(name: str = "ASK", due: float | None = None, **changes: object) -> AskRecord:
    fields: dict[str, object] = {"asked": 10.0, "due": due, **changes}
    return AskRecord(CallKey(name, 0, "ask"), "hash", {"ask": f"{name}?", "schema": {}}, **fields)  # type: ignore[arg-type]


async def test_questions_to_people_are_kept_and_answered_by_who_is_first(store: Store) -> None:
    journal = store.begin(run())
    kept = [journal.ask(question(name)) for name in ("ONE", "TWO", "THREE")]
    journal.withdraw(question("THREE"))
    await asyncio.gather(*kept)
    await journal.finish("waiting", {}, NOTHING, None)
    await journal.close()
    assert (store.run("run-1").status, store.run("run-1").ended) == ("waiting", None)
    one, two, three = store.asks("run-1")
    assert [(ask.visit.name, ask.state) for ask in (one, two, three)] == [
        ("ONE", "asked"),
        ("TWO", "asked"),
        ("THREE", "withdrawn"),
    ]
    assert [(found.id, [ask.visit.name for ask in found.asks]) for found in store.waiting()] == [
        ("run-1", ["ONE", "TWO"])
    ]
    assert store.ready() == []
    with closing(Store.open()) as other:
        assert other.answer(one, {"answer": "\N{SNOWMAN}"}, "ann")[0]
    is_first, as_it_is = store.answer(one, None, "bob")
    assert (is_first, as_it_is.state, as_it_is.by, as_it_is.answer) == (
        False,
        "answered",
        "ann",
        {"answer": "\N{SNOWMAN}"},
    )
    assert store.answer(three, {"answer": "late"}, "ann")[0] is False
    assert store.ready() == ["run-1"]
    _, again = store.take("run-1")
    assert [ask.state for ask in again.asks()] == ["answered", "asked", "withdrawn"]
    person = replace(call("ONE"), kind="person", key=CallKey("ONE", 0, "ask"), request_hash="hash")
    await again.record_call(replace(person, origin="person", endpoint="merrow:person", usage=NOTHING))
    await again.finish("waiting", {}, NOTHING, None)
    await again.close()
    assert store.ready() == []
    assert store.answer(two, None, "bob")[1].state == "declined"
    assert store.ready() == ["run-1"]
    store.request_cancel("run-1")
    assert store.waiting() == []


async def test_a_deadline_closes_a_question_for_whoever_looks(store: Store) -> None:
    journal = store.begin(run())
    await asyncio.gather(journal.ask(question("PAST", 11.0)), journal.ask(question("FUTURE", time.time() + 1000)))
    await journal.finish("waiting", {}, NOTHING, None)
    await journal.close()
    past, future = store.asks("run-1")
    assert store.ready() == ["run-1"]
    assert store.answer(past, {"answer": "late"}, "ann")[0] is False
    assert store.answer(future, {"answer": "in time"}, "ann")[0]
    _, again = store.take("run-1")
    assert [ask.state for ask in again.asks()] == ["expired", "answered"]
    await again.finish("finished", {}, NOTHING, None)
    await again.close()


async def test_questions_are_copied_and_go_with_their_run(store: Store, tmp_path: Path) -> None:
    journal = store.begin(run())
    await journal.ask(question())
    await journal.finish("waiting", {}, NOTHING, None)
    await journal.close()
    with closing(Store.open(tmp_path / "copy.sqlite")) as target:
        copy(store, target)
        (there,) = target.waiting()
        assert [(ask.visit.name, ask.question["ask"], ask.asked) for ask in there.asks] == [("ASK", "ASK?", 10.0)]
        assert target.answer(there.asks[0], {}, "ann")[0]
    store.delete("run-1")
    assert store._rows("SELECT count(*) FROM asks", ())[0][0] == 0


async def test_a_journal_of_an_older_version_gets_what_came_since(store: Store, configured: str) -> None:
    def as_it_was(database: Database) -> None:
        database.execute("DROP TABLE asks")
        for table in ("scores", "trials"):
            for column in ("fields", "others"):
                database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")

    store._writer.now(as_it_was)
    older = "PRAGMA user_version = 13" if configured == "sqlite" else "UPDATE merrow SET version = 13"
    store._database.execute(older)
    if configured == "postgres":
        store._database.execute("ALTER TABLE paced DROP COLUMN requests")
        store._database.execute("DROP TABLE paused")
    with closing(Store.open()) as newer:
        assert newer.waiting() == []
        journal = newer.begin(run())
        await journal.ask(question())
        await journal.close()
        assert [ask.visit.name for ask in newer.asks("run-1")] == ["ASK"]
        newer.evaluations.begin(evaluation("ev1"))
        fields = {"kind": {"value": 1.0, "read": "a", "gold": "a", "reason": "equal"}}
        await newer.evaluations.keep("ev1", replace(score("q0"), fields=fields, others="{}"))
        [kept] = newer.evaluations.known(b"w")
        assert (kept.fields, kept.others) == (fields, "{}")


async def test_scores_and_statuses_are_read_for_many_at_once_as_one_by_one(store: Store) -> None:
    store.evaluations.begin(evaluation("ev1"))
    store.evaluations.begin(evaluation("ev2"))
    names = [f"q{number}" for number in range(130)] + ["half \ud800", "it's"]
    await asyncio.gather(
        *(store.evaluations.keep("ev1", score(name, run="")) for name in names[::2]),
        store.evaluations.keep("ev1", replace(score("q1"), repeat=1)),
        store.evaluations.keep("ev2", score("q3")),
    )
    for name in ("ev1/q1", "ev1/q2", "ev1/it's"):
        await store.begin(run(name)).close()
    await store.begin(run("ev1/q4")).finish("finished", {}, NOTHING, None)

    wanted = [(name, repeat) for name in reversed(names) for repeat in (0, 1)]
    some = store.evaluations.some("ev1", wanted)
    assert some == [store.evaluations.score("ev1", *each) for each in wanted]
    assert sum(each is not None for each in some) == len(names[::2]) + 1
    assert store.evaluations.some("ev1", []) == []
    runs = [f"ev1/{name}" for name in names if name.isascii()]
    one_by_one = {each: status for each in runs if (status := store.status(each)) is not None}
    assert store.statuses(runs) == one_by_one
    assert (one_by_one["ev1/q4"], len(one_by_one)) == ("finished", 4)
    assert store.statuses([]) == {}


async def test_one_transaction_shows_that_all_runs_of_a_process_are_alive(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    journals = {f"run-{number}": store.begin(run(f"run-{number}")) for number in range(70)}
    for journal in journals.values():
        await journal.record_definitions("{}")
    made = []
    attempt = Writer.attempt
    monkeypatch.setattr(Writer, "attempt", lambda writer, work: made.append(attempt(writer, work)))
    with closing(Store.open()) as other:
        assert other.request_cancel("run-3")
        await journals["run-69"].close()

        def later(database: Any) -> None:
            database.execute("UPDATE holders SET holder = 'another' WHERE run = 'run-5'")
            database.execute("UPDATE holders SET beat = beat - 10")

        before = dict(store._database.execute("SELECT run, beat FROM holders").fetchall())
        store._writer.now(later)
        await store._writer.beating._beat()
        beats = dict(store._database.execute("SELECT run, beat FROM holders").fetchall())
    assert len(made) == 1
    assert [name for name, journal in journals.items() if journal.cancel_requested()] == ["run-3"]
    assert {name for name in beats if beats[name] < before[name]} == {"run-5", "run-69"}
    for name, journal in journals.items():
        if name == "run-5":
            with pytest.raises(StoreFailure, match="was taken over by another process"):
                await journal.record_call(call())
        elif name != "run-69":
            await journal.record_call(call())
        await journal.close()
    assert store._writer.beating._timer is None
