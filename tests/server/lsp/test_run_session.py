"""What the thread of the runs does for an editor, without one: runs, the journal, evaluations and searches, answer for answer."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.optimizer.suggestions.scripted import FLOW as VOICES
from tests.optimizer.suggestions.scripted import Model, candidate, is_judging, prompt, said, setting
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step
from tests.runtime.workflows import CHAIN
from tests.server.searching import SINGLE, lucky

from merrow_optimizer.mutations.moves import OPERATORS
from merrow_runtime.errors import RunFailure
from merrow_server.jobs import journal, revising
from merrow_server.jobs.keys import Keys
from merrow_server.jobs.orders import (
    EditorWorkflow,
    EvaluationOrder,
    Hears,
    Order,
    RevisionOrder,
    SearchOrder,
    SuggestionOrder,
)
from merrow_server.jobs.session import Session
from merrow_server.jobs.ticket import Ticket
from merrow_server.jobs.worker import JobThread

Json = dict[str, Any]
_T = TypeVar("_T")
QUESTION = {"PROBLEM": "How many legs has a spider?"}


@cache
def ticket(number: int) -> Ticket:
    """The ticket with this number, of one test."""
    del number
    return Ticket()


def unheard(*_: Any) -> None:
    """Nobody is told."""


class Bench:
    """A session with an endpoint and a folder; ``events`` are those of all runs."""

    def __init__(self, server: OpenAIServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.session = Session(Keys())
        self.begun: list[tuple[str, str]] = []
        self.events: list[Json] = []

    def text(self, text: str, name: str = "flow.mmd") -> EditorWorkflow:
        file = self.folder / name
        return EditorWorkflow(str(file), text, path=str(file), file=file)

    def begin(self, order: Order) -> asyncio.Task[Json]:
        hears = Hears(lambda run, name: self.begun.append((run, name)), asyncio.get_running_loop(), self.events.extend)
        return asyncio.create_task(self.session.desk.carry_out(self.session.runs, order, hears))

    async def forecast(self, what: str, order: Any) -> Json:
        """What an order of a kind may cost."""
        return await self.session.desk.forecast(self.session.kind(what), order, unheard)

    async def do(self, what: str, order: Any, told: Callable[..., None] | None = None) -> Any:
        """What came of an order of a kind."""
        return await self.session.desk.carry_out(self.session.kind(what), order, told or unheard)

    async def run(self, text: EditorWorkflow | None, **more: Any) -> Json:
        return await self.begin(Order(Ticket(), text, **({"inputs": QUESTION} | more)))

    async def refused(self, work: Coroutine[Any, Any, Any] | Callable[[], Any]) -> str:
        """The sentence with which something is refused."""
        with pytest.raises(RunFailure) as caught:
            await work if isinstance(work, Coroutine) else work()
        return str(caught.value)


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    ticket.cache_clear()
    async with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        made = Bench(server, tmp_path)
        yield made
        await made.session.close()


async def test_a_run_says_that_it_began_and_how_it_ended(bench: Bench) -> None:
    session, text = bench.session, bench.text(CHAIN)
    bench.server.script(Reply("It has eight legs."), Reply("eight"))
    ended = await bench.run(text, model="mine")
    [(run, name)] = bench.begun
    usage = {"prompt_tokens": 16, "completion_tokens": 5, "calls": 2, "cost_usd": None}
    source = {"endpoint": bench.server.origin, "model": "mine"}
    assert ended == {
        "run": run,
        "status": "finished",
        "outputs": {"RETURN": "eight"},
        "usage": usage,
        "seconds": ended["seconds"],
        "sources": [source],
        "exhausted": [],
    }
    assert (name, session.desk.here, {one["run"] for one in bench.events}) == (text.name, set(), {run})
    listed = {
        "run": run,
        "workflow": text.name,
        "status": "finished",
        "started": None,
        "seconds": None,
        "usage": usage,
        "sources": [source],
        "answered_by": f"mine @ {bench.server.origin.removeprefix('http://')}",
        "error": None,
        "parent": None,
    }
    place = {"uri": (bench.folder / "flow.mmd").as_uri(), "diagram": 1}
    (found,), damaged = journal.list_runs(session, text.name, 5)
    times = {key: found[key] for key in ("started", "seconds")}
    assert (found, damaged) == (listed | times | place | {"here": False}, [])
    assert journal.list_runs(session, "another", 5) == ([], [])
    shown = journal.show_run(session, run[:6], None)
    assert shown.items() >= (listed | times | place | {"text": CHAIN, "inputs": QUESTION, "revisions": []}).items()
    assert [one["node"] for one in shown["nodes"]] == ["PROBLEM", "A", "B", "RETURN"]
    assert [one["node"] for one in journal.show_run(session, run, "B")["nodes"]] == ["B"]
    assert [one.node for one in session.runs.nodes(run)] == ["PROBLEM", "A", "B", "RETURN"]
    again = await bench.run(text, model="mine")
    assert (again["status"], len(bench.server.requests)) == ("finished", 2), "what is known is not asked again"
    await bench.run(text, model="mine", fresh=True)
    assert len(bench.server.requests) == 4
    await bench.run(text, no_store=True)
    assert len(journal.list_runs(session, None, 9)[0]) == 3
    assert journal.delete_run(session, run) == {"run": run}
    assert len(journal.list_runs(session, None, 9)[0]) == 2
    assert len(journal.list_runs(session, None, 1)[0]) == 1


async def test_a_run_is_bounded_as_its_order_says(bench: Bench) -> None:
    config = bench.folder / "config"
    config.mkdir()
    prices = f'[prices."{bench.server.origin}"."*"]\ninput = 1\noutput = 1\n'
    (config / "config.toml").write_text(prices, "utf-8")
    text = bench.text(CHAIN)
    for unit, bound, says in (
        ("usd", 0.00001, "US dollars"),
        ("tokens", 1, "tokens"),
        ("seconds", 0.000001, "seconds"),
    ):
        bench.server.requests.clear()
        ended = await bench.run(text, budget={unit: bound}, fresh=True)
        assert (ended["status"], ended["code"], len(bench.server.requests) < 2) == ("failed", "budget", True)
        assert says in ended["error"]
    assert (await bench.run(text, budget={"usd": 1, "tokens": 5000, "seconds": 500}))["status"] == "finished"


async def test_what_is_cancelled_before_it_began_is_not_begun(bench: Bench) -> None:
    text = bench.text(CHAIN)
    ticket(7).cancel()
    order = Order(ticket(7), text, inputs=QUESTION)
    assert await bench.refused(_awaited(bench.begin(order))) == "The run was cancelled before it began."
    assert bench.server.requests == []
    assert (await bench.run(text))["status"] == "finished", "another order is not cancelled by that"


async def _awaited(task: asyncio.Task[_T]) -> _T:
    return await task


async def test_what_goes_on_is_found_by_its_id_cancelled_and_resumed(bench: Bench) -> None:
    session, text = bench.session, bench.text(CHAIN)
    bench.server.script(Reply("eight legs"), Hang())
    running = bench.begin(Order(ticket(1), text, inputs=QUESTION))
    await bench.server.arrived(2)
    [(run, _)] = bench.begun
    assert session.desk.here == {run}
    assert [one.node for one in session.runs.nodes(run)] == ["PROBLEM", "A"]
    (listed,), _ = journal.list_runs(session, None, 5)
    assert (listed["here"], listed["status"]) == (True, "running")
    for unknown in ("other", ""):
        sentence = f"Run {unknown} does not continue here, so none of its revisions waits for you here."
        if unknown:
            assert await bench.refused(lambda: session.runs.decide(unknown, 1, apply=True)) == sentence  # noqa: B023
    assert "Revision 3 of this run is not waiting" in await bench.refused(
        lambda: session.runs.decide(run[:5], 3, apply=True)
    )
    assert await bench.refused(lambda: session.desk.cancel("other")) != ""
    assert session.desk.cancel(run[:5]) == run
    assert (await running)["status"] == "cancelled"
    assert session.desk.here == set()
    assert session.desk.cancel(run) is None
    bench.server.script(Reply("eight"))
    resumed = await bench.run(None, resume=run)
    assert (resumed["run"], resumed["status"], resumed["outputs"]) == (run, "finished", {"RETURN": "eight"})
    assert len(bench.server.requests) == 3
    again = bench.begin(Order(ticket(2), text, inputs={"PROBLEM": "Another?"}))
    bench.server.script(Hang())
    await bench.server.arrived(4)
    ticket(2).cancel()
    assert (await again)["status"] == "cancelled"


async def test_results_are_taken_over_from_the_last_run_or_the_one_that_is_named(bench: Bench) -> None:
    text = bench.text(CHAIN)
    wanted = {"from_node": "B", "takes_over": True}
    assert await bench.refused(bench.run(text, **wanted)) == (
        f"{text.name} was not run before, so nothing can be reused; run all of it."
    )
    bench.server.script(Reply("one"), Reply("1"), Reply("two"), Reply("2"), Reply("3"), Reply("4"))
    first = await bench.run(text)
    second = await bench.run(text, fresh=True)
    later = await bench.run(text, **wanted, fresh=True)
    named = await bench.run(text, **wanted, from_run=first["run"], fresh=True)
    asked = [request.body["messages"][-1]["content"] for request in bench.server.requests[4:]]
    assert [("two" in asked[0], "one" in asked[0]), ("two" in asked[1], "one" in asked[1])] == [
        (True, False),
        (False, True),
    ]
    parents = {one["run"]: one["parent"] for one in journal.list_runs(bench.session, None, 9)[0]}
    assert parents == {
        first["run"]: None,
        second["run"]: None,
        later["run"]: second["run"],
        named["run"]: first["run"],
    }
    (node,) = journal.show_run(bench.session, later["run"], "A")["nodes"]
    assert node["why_no_call"] == f"Its result was reused from run {second['run']}."


async def test_two_runs_are_compared_node_by_node(bench: Bench) -> None:
    bench.server.script(Reply("long"), Reply("8"), Reply("other"))
    first = (await bench.run(bench.text(CHAIN)))["run"]
    renamed = CHAIN.replace("B", "C").replace("PROC", "PROB").replace("PROCLEM", "PROBLEM")
    other = renamed.replace("Shorten the answer.", "Write it as a number.")
    second = (await bench.run(bench.text(other)))["run"]
    third = (await bench.run(bench.text(other), inputs={"PROBLEM": "What else?"}))["run"]
    found = journal.compare(bench.session, first, second)
    assert list(found) == ["a", "b", "textEqual", "inputsEqual", "nodes"]
    assert (found["a"]["run"], found["b"]["run"]) == (first, second)
    assert (found["textEqual"], found["inputsEqual"]) == (False, True)
    shown = {one["node"]: one for one in journal.show_run(bench.session, first, None)["nodes"]}
    kept = ("status", "operator", "model", "outputs", "usage", "seconds", "error", "case")
    b = {key: shown["B"][key] for key in kept} | {"calls": 1}
    nodes = {one["node"]: one for one in found["nodes"]}
    assert list(nodes) == ["PROBLEM", "A", "B", "RETURN", "C"]
    unknown = {"status": False, "outputs": None, "key": None}
    assert nodes["B"] == {"node": "B", "a": b, "b": None, "equal": unknown}
    assert (nodes["C"]["a"], nodes["C"]["equal"]) == (None, unknown)
    assert nodes["C"]["b"]["outputs"] == {"response": "other"}
    assert nodes["A"]["equal"] == {"status": True, "outputs": True, "key": True}
    assert nodes["RETURN"]["equal"]["outputs"] is False
    found = journal.compare(bench.session, second, third)
    assert (found["textEqual"], found["inputsEqual"]) == (True, False)
    assert all(one["a"] and one["b"] for one in found["nodes"])


async def test_who_would_answer_is_told_with_the_models(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session
    told = {"endpoint": bench.server.origin, "source": "environment", "key": False}
    two = CHAIN.replace("(role: second)", "(role: second, model: big)")
    nothing = "flowchart TD\n    PROBLEM([Problem]):::Interface --> RETURN([Answer]):::Interface\n"
    for text, model, models in (
        (None, None, ["gpt-4o-mini"]),
        (None, "mine", ["mine"]),
        (CHAIN, None, ["test-model"]),
        (CHAIN, "mine", ["mine"]),
        (two, None, ["test-model", "big"]),
        (two, "mine", ["mine", "big"]),
        (nothing, None, ["gpt-4o-mini"]),
        ("flowchart TD\n    A[\n", None, ["gpt-4o-mini"]),
    ):
        asked = None if text is None else bench.text(text)
        assert session.answering(asked, model) == told | {"models": models}, (text, model)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert session.answering(None, None)["key"] is True


async def test_revisions_are_compared_and_shown(bench: Bench) -> None:
    session, text = bench.session, bench.text(CHAIN)
    other = bench.text(CHAIN.replace("Shorten the answer.", "Write it as a number."), "other.mmd")
    found = revising.compare_texts(text, other, None)
    assert (found["kept"], found["changed"], found["refused"]) == (["A"], ["B"], [])
    assert revising.compare_texts(text, other, ["PROBLEM"])["kept"] == []
    broken = bench.text("flowchart TD\n    A[\n", "broken.mmd")
    assert len(revising.compare_texts(text, broken, None)["refused"]) == 1
    assert await bench.refused(lambda: revising.compare_texts(text, other, ["A", "X"])) == f"{text.name} has no node X."
    bench.server.script(Reply("eight legs"), Hang())
    running = bench.begin(Order(ticket(1), text, inputs=QUESTION))
    await bench.server.arrived(2)
    [(run, _)] = bench.begun
    found = revising.compare(session, RevisionOrder(run[:6], other))
    assert (found["kept"], found["changed"], found["refused"]) == (["A"], ["B"], [])
    assert revising.compare(session, RevisionOrder(run, number=0))["changed"] == []
    ticket(1).cancel()
    await running
    begun = await revising.revision(session, run, 0)
    assert begun == {
        "run": run,
        "uri": (bench.folder / "flow.mmd").as_uri(),
        "diagram": 1,
        "revision": 0,
        "state": "applied",
        "trigger": "start",
        "reason": None,
        "at": journal.show_run(session, run, None)["started"],
        "diff": {},
        "text": CHAIN,
        "earlier": [],
    }
    for number in (1, 7):
        assert await bench.refused(revising.revision(session, run, number)) == f"Run {run} has no revision {number}."
    assert revising.texts(session, run, None) == (CHAIN, [CHAIN])
    assert revising.texts(session, run[:6], 0) == (CHAIN, [CHAIN])
    sentence = f"Revision 1 of run {run} was not applied, so the run never was so."
    assert await bench.refused(lambda: revising.texts(session, run, 1)) == sentence
    asked = await revising.revise(session, RevisionOrder(run, other))
    assert asked == {
        "run": run,
        "revision": 1,
        "state": "asked",
        "diff": asked["diff"],
        "resumes": True,
    }
    assert (asked["diff"]["kept"], asked["diff"]["changed"]) == (["A"], ["B"])
    refused = await revising.revise(session, RevisionOrder(run, broken))
    assert (refused["revision"], refused["state"]) == (2, "refused")
    assert refused["reason"] == refused["diff"]["refused"][0]
    assert (await revising.revision(session, run, 1))["text"] == other.text
    assert (await revising.revision(session, run, 2))["earlier"] == [CHAIN], "the first is not applied yet"
    bench.server.script(Reply("8"))
    assert (await bench.run(None, resume=run))["outputs"] == {"RETURN": "8"}
    shown = await revising.revision(session, run, 1)
    assert (shown["state"], shown["earlier"], shown["text"]) == ("applied", [CHAIN], other.text)
    assert revising.texts(session, run, None) == (other.text, [CHAIN, other.text])
    assert journal.show_run(session, run, None)["text"] == other.text
    assert "has finished" in await bench.refused(revising.revise(session, RevisionOrder(run, number=0)))
    assert (await revising.revision(session, run, 0))["text"] == CHAIN


def numbers(request: Received) -> Step:
    """The sum that is asked for; that of 3 and 3 is wrong."""
    found = [int(word) for word in re.findall(r"\d+", request.body["messages"][-1]["content"])]
    return Reply("7" if found[0] == 3 else str(sum(found)))


def data(folder: Path, count: int = 6, name: str = "own.jsonl") -> Json:
    rows = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": str(2 * n)} for n in range(count)]
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return {"dataset": str(folder / name), "gold": "answer", "metric": "numeric"}


async def evaluated(bench: Bench, text: EditorWorkflow, asked: Json, news: list[Json] | None = None) -> Json:
    order = EvaluationOrder(ticket(1), text, asked)
    done: Json = await bench.do("evaluation", order, (news if news is not None else []).append)
    return done


async def test_an_evaluation_is_told_listed_compared_and_rated(bench: Bench) -> None:
    bench.server.answer = numbers
    asked, text = data(bench.folder), bench.text(SINGLE)
    evaluations = bench.session.kind("evaluation")
    assert (evaluations.last(text), evaluations.list(None, 9)) == (None, [])
    forecast = await bench.forecast("evaluation", EvaluationOrder(ticket(1), text, asked))
    assert forecast.items() >= {"items": 6, "endpoint": bench.server.origin, "model": "m-1", "notices": []}.items()
    assert bench.server.requests == []
    news: list[Json] = []
    ended = await bench.do("evaluation", EvaluationOrder(ticket(1), text, asked), news.append)
    assert (ended["status"], ended["score"], ended["here"]) == ("finished", pytest.approx(5 / 6), False)
    assert ended["asked"] == {
        **asked,
        "repeat": 1,
        "seed": 42,
        "fresh": False,
    }
    assert news[0] == {"evaluation": ended["evaluation"], "done": 0, "total": 6, "text": "$0", "rows": []}
    assert {(one["evaluation"], one["total"]) for one in news} == {(ended["evaluation"], 6)}
    rows = [row for one in news for row in one["rows"]]
    assert sorted((row["item"], row["status"], row["gold"]) for row in rows) == [
        (f"q{n}", "wrong" if n == 3 else "right", str(2 * n)) for n in range(6)
    ]
    assert all("output" not in row for row in rows)
    assert news[-1]["done"] == 6
    assert evaluations.list(text.name, 9) == evaluations.list(None, 1) == [ended]
    assert evaluations.last(text) == ended | {"changed": False}
    assert evaluations.last(replace(text, text=SINGLE.replace("first", "other"))) == ended | {"changed": True}
    assert evaluations.last(replace(text, text="flowchart TD\n    A[\n")) == ended | {"changed": True}
    name = ended["evaluation"]
    item = evaluations.report(name[:6], "q3")
    assert item["rows"] == [
        next(row for row in rows if row["item"] == "q3") | {"output": "7", "inputs": {"PROBLEM": "What is 3 plus 3?"}}
    ]
    assert {key: item[key] for key in ended} == ended
    assert await bench.refused(lambda: evaluations.report(name, "q9")) == f"Evaluation {name} has no item q9."
    assert evaluations.report(name, None)["rows"][0]["item"] == "q3"
    nothing = f"Evaluation {name} has no answer to {{}} that could be rated."
    for wrong, repeat in (("q9", 0), ("q3", 1)):
        assert await bench.refused(lambda: evaluations.rate(name, wrong, repeat, "good", None)) == nothing.format(  # noqa: B023
            wrong
        )
    rated = {"evaluation": name, "item": "q3", "repeat": 0}
    assert evaluations.rate(name, "q3", 0, "bad", "one too many") == rated | {"verdict": "bad", "note": "one too many"}
    assert evaluations.report(name, None)["rows"][0]["verdict"] == "bad"
    assert evaluations.rate(name, "q3", 0, None, None) == rated | {"verdict": None}

    bench.server.answer = lambda request: Status(400) if "1 plus" in str(request.body) else numbers(request)
    failing = await evaluated(bench, bench.text(SINGLE.replace("first", "last")), asked)
    assert failing["answers"] == {"right": 4, "wrong": 1, "failed": 0, "unanswered": 1, "invalid": 0}
    sentence = f"Evaluation {failing['evaluation']} has no answer to q1 that could be rated."
    assert await bench.refused(lambda: evaluations.rate(failing["evaluation"], "q1", 0, "good", None)) == sentence
    evaluations.delete(failing["evaluation"])

    changed = bench.text(SINGLE.replace("first", "other"))
    bench.server.answer = lambda request: Reply("0") if "1 plus" in str(request.body) else numbers(request)
    second = await evaluated(bench, changed, asked)
    assert [one["evaluation"] for one in evaluations.list(None, 9)] == [second["evaluation"], name]
    assert evaluations.last(changed) == second | {"changed": False}
    found = evaluations.compare(name, second["evaluation"])
    assert (found["before"], found["after"]) == (ended, second)
    assert (found["difference"], found["better"], found["worse"]) == (pytest.approx(-1 / 6), [], ["q1"])
    assert "Difference -0.167" in found["text"]
    elsewhere = await evaluated(bench, text, data(bench.folder, 5, "other.jsonl"))
    refused = await bench.refused(lambda: evaluations.compare(name, elsewhere["evaluation"]))
    assert refused == (
        f"Evaluations {name} and {elsewhere['evaluation']} are of different data, so their items can't be compared."
    )
    assert evaluations.delete(name[:6]) == name
    assert [one["evaluation"] for one in evaluations.list(None, 9)] == [elsewhere["evaluation"], second["evaluation"]]


async def test_an_evaluation_is_dropped_cancelled_and_gone_on_with(bench: Bench) -> None:
    evaluations, text, asked = bench.session.kind("evaluation"), bench.text(SINGLE), data(bench.folder)
    bench.server.answer = lambda request: Hang() if "5 plus" in str(request.body) else numbers(request)
    ticket(2).cancel()
    refused = await bench.refused(bench.do("evaluation", EvaluationOrder(ticket(2), text, asked)))
    assert refused == "The evaluation was cancelled before it began."
    assert (bench.server.requests, evaluations.list(None, 9)) == ([], [])
    five = asyncio.Event()
    news: list[Json] = []

    def told(one: Json) -> None:
        news.append(one)
        if one["done"] == 5:
            five.set()

    running = asyncio.create_task(bench.do("evaluation", EvaluationOrder(ticket(3), text, asked), told))
    await five.wait()
    (here,) = evaluations.list(None, 9)
    name = here["evaluation"]
    assert (here["here"], here["status"], bench.session.desk.here) == (True, "running", {name})
    again = EvaluationOrder(ticket(4), resume=name)
    assert await bench.refused(bench.do("evaluation", again)) == f"Evaluation {name} is running here already."
    ticket(3).cancel()
    ended = await running
    assert (ended["status"], ended["missing"], ended["here"], bench.session.desk.here) == ("cancelled", 0, False, set())
    assert [row["item"] for one in news for row in one["rows"]].count("q5") == 0
    bench.server.answer = numbers
    asked_before = len(bench.server.requests)
    news.clear()
    done = await bench.do("evaluation", again, told)
    assert (done["evaluation"], done["status"], done["missing"]) == (name, "finished", 0)
    assert len(bench.server.requests) == asked_before + 1
    assert (news[0]["done"], news[-1]["done"]) == (5, 6)


@pytest.mark.slow
async def test_a_search_is_told_listed_reported_and_gives_its_best(bench: Bench) -> None:
    bench.server.answer = lucky
    searches, text = bench.session.kind("search"), bench.text(SINGLE)
    out = bench.folder / "found"
    asked = data(bench.folder, 90)
    wanted = {"strategy": "climb", "bounds": {"evaluations": 500}}
    order = SearchOrder(ticket(1), text, asked, search=wanted, out=str(out))
    forecast = await bench.forecast("search", order)
    said = {"items": 60, "held_out_items": 30, "free": False, "endpoint": bench.server.origin, "model": "m-1"}
    assert forecast.items() >= said.items()
    assert forecast["text"].count("\n") >= 1
    assert (bench.server.requests, searches.list(None, 9), searches.last(text)) == ([], [], None)
    news: list[Json] = []
    ended = await bench.do("search", order, news.append)
    name = ended["search"]
    assert (ended["status"], ended["here"], ended["uri"]) == ("finished", False, (bench.folder / "flow.mmd").as_uri())
    total = news[0]["total"]
    assert news[0] == {
        "search": name,
        "done": 0,
        "total": total,
        "text": "nothing scored yet; 0 candidates",
        "crown": 0,
        "told": None,
    }
    assert 400 < total <= 500
    assert all((one["search"], one["total"], list(one)) == (name, total, list(news[0])) for one in news)
    done = [one["done"] for one in news]
    assert done == sorted(done)
    assert done[-1] == ended["answers"]
    held_out = "; reading 30 held-out items"
    for one in news:
        first, _, rest = one["text"].partition("; ")
        best = "the start" if one["crown"] == 0 else f"round {one['crown']}"
        expected = "nothing scored yet" if one["told"] is None else f"best so far: {best}, estimated {one['told']:.3f}"
        assert first == expected
        assert re.fullmatch(rf"(1 candidate|\d+ candidates)({held_out})?", rest), rest
    assert news[-1]["text"].endswith(held_out)
    assert news[-1]["crown"] == ended["crown"] > 0
    report = searches.report(name[:6])
    assert f"; {report['candidates']} candidates" in news[-1]["text"]
    assert report["html"] == (out / "report.html").read_text("utf-8")
    assert {key: report[key] for key in ended} == ended
    assert searches.list(text.name, 9) == searches.list(None, 1) == [ended]
    assert searches.list("another", 9) == []
    assert searches.last(text) == ended
    assert searches.last(replace(text, text=SINGLE.replace("first", "other"))) is None
    better = searches.better(name)
    assert {key: better[key] for key in ended} == ended
    assert (better["before"], better["file"]) == (SINGLE, str(out / "best.mmd"))
    assert Path(better["file"]).read_text("utf-8").endswith(better["after"])
    assert better["title"] in report["text"]
    assert better["text"] != report["text"], "in short, without all rounds"
    assert better["text"].splitlines()[0] in report["text"]
    for nothing in ("none", name + "x"):
        assert "There is no search" in await bench.refused(lambda: searches.better(nothing))  # noqa: B023
    assert searches.delete(name[:6]) == name
    assert searches.list(None, 9) == []


@pytest.mark.slow
async def test_a_search_that_found_nothing_has_nothing_better_and_one_that_goes_on_is_not_begun_again(
    bench: Bench,
) -> None:
    searches, text = bench.session.kind("search"), bench.text(SINGLE)
    bench.server.answer = lambda _: Hang()
    wanted = {"strategy": "climb", "bounds": {"evaluations": 150}}
    order = SearchOrder(ticket(1), text, data(bench.folder, 24), search=wanted, out=str(bench.folder / "found"))
    news: list[Json] = []
    running = asyncio.create_task(bench.do("search", order, news.append))
    await bench.server.arrived(1)
    (here,) = searches.list(None, 9)
    name = here["search"]
    assert (here["here"], here["status"], bench.session.desk.here) == (True, "running", {name})
    nothing = f"Search {name} has found no better workflow."
    assert await bench.refused(lambda: searches.better(name)) == nothing, "before anything was scored"
    again = SearchOrder(ticket(2), resume=name)
    assert await bench.refused(bench.do("search", again)) == f"Search {name} is running here already."
    ticket(1).cancel()
    assert (await running)["status"] == "cancelled"
    bench.server.answer = lambda _: Reply("7.5")
    ended = await bench.do("search", again, news.append)
    assert (ended["search"], ended["status"], ended["crown"]) == (name, "finished", 0)
    assert news[-1]["text"].startswith("best so far: the start, estimated 0.000; ")
    assert await bench.refused(lambda: searches.better(name)) == nothing
    assert searches.last(text) is None
    ticket(3).cancel()
    refused = await bench.refused(bench.do("search", replace(order, ticket=ticket(3)), news.append))
    assert refused == "The search was cancelled before it began."


DRAFT = said(
    candidate(prompt("Check each step."), title="Check the steps", reason="Slips are found."),
    candidate(setting("samples", 3), title="Ask thrice"),
    candidate({"apply": "nonsense"}, title="Impossible"),
)


class Advising(Model):
    """A model for suggestions; a workflow that is run gets ``wrong`` from it."""

    def __call__(self, request: Received) -> Step:
        known = is_judging(request) or '"candidates"' in request.body["messages"][-1]["content"]
        return super().__call__(request) if known else Reply("wrong")


@pytest.mark.slow
async def test_suggestions_are_forecast_asked_for_and_known_from_then_on(bench: Bench) -> None:
    text = bench.text(VOICES)
    answers = Advising(
        DRAFT, [said(candidate({"apply": "nonsense"}))], score=lambda one: 9 if "thrice" in str(one) else 4
    )
    bench.server.answer = answers
    order = SuggestionOrder(ticket(1), text, {"n": 3, "judge_model": "fair"}, operators=OPERATORS)
    forecast = await bench.forecast("suggestion", order)
    origin = bench.server.origin
    said_first = {"endpoint": origin, "mayCost": True, "notices": [], "calls": {"least": 3, "most": 16}}
    assert {key: forecast[key] for key in said_first} == said_first
    tokens = forecast["tokens"]["most"]
    assert forecast["text"] == (
        f"3 to 16 calls to test-model and, to judge, fair at {origin}, at most about {tokens:,.0f} tokens, the price is"
        " not known."
    )
    assert bench.server.requests == []
    report, differences = await bench.do("suggestion", order)
    assert [one["title"] for one in report["suggestions"]] == ["Ask thrice", "Check the steps"]
    assert len(differences) == 2
    assert all(one["diagramText"] != VOICES and one["edits"] for one in report["suggestions"])
    assert {key: report[key] for key in ("workflow", "optimizer_model", "judge_model", "endpoint", "notices")} == {
        "workflow": text.name,
        "optimizer_model": "test-model",
        "judge_model": "fair",
        "endpoint": origin,
        "notices": [],
    }
    assert report["refused"] == [
        {"title": "A change", "form": "moves", "stage": "read", "why": report["refused"][0]["why"]}
    ]
    counts = {
        "proposed": 3,
        "valid_first": 2,
        "valid_after_free_repair": 0,
        "valid_after_repair": [0, 0, 0],
        "never": 1,
        "share_first": pytest.approx(2 / 3),
        "share_after_repair": pytest.approx(2 / 3),
    }
    none = {
        **dict.fromkeys(counts, 0),
        "valid_after_repair": [0, 0, 0],
        "share_first": None,
        "share_after_repair": None,
    }
    assert report["valid"] == counts | {"forms": {"moves": counts, "graph": none}}
    assert report["usage"]["calls"] == len(bench.server.requests)
    assert report["run"]["calls"] == {"least": 2, "most": 3}
    count = len(bench.server.requests)
    forecast = await bench.forecast("suggestion", order)
    assert (forecast["text"], forecast["mayCost"]) == ("All answers are known already; no call is made.", False)
    again, _ = await bench.do("suggestion", order)
    assert again["suggestions"] == report["suggestions"]
    assert (again["usage"]["calls"], again["usage"]["cost_usd"], len(bench.server.requests)) == (0, 0, count)
    fresh = replace(order, ticket=ticket(3), asked={**order.asked, "fresh": True})
    assert (await bench.forecast("suggestion", fresh))["mayCost"] is True
    other = replace(order, ticket=ticket(4), asked={**order.asked, "seed": 7})
    assert (await bench.forecast("suggestion", other))["mayCost"] is True
    ticket(4).cancel()
    cancelled = "The suggestions were cancelled; answers that came are kept and not paid again."
    assert await bench.refused(bench.do("suggestion", other)) == cancelled
    bench.server.answer = lambda request: Hang() if is_judging(request) else answers(request)
    bench.server.requests.clear()
    running = asyncio.create_task(bench.do("suggestion", replace(fresh, ticket=ticket(5))))
    while not any(map(is_judging, bench.server.requests)):
        await bench.server.arrived(len(bench.server.requests) + 1)
    ticket(5).cancel()
    refused = await bench.refused(_awaited(running))
    assert re.fullmatch(rf"{re.escape(cancelled)} \d calls, cost unknown\.", refused), refused


@pytest.mark.slow
async def test_what_may_be_spent_unasked_and_what_a_budget_must_hold(bench: Bench) -> None:
    text = bench.text(VOICES)
    config = bench.folder / "config"
    config.mkdir()

    def settings(dollars: float, more: str = "") -> None:
        prices = f'[prices."{bench.server.origin}"."*"]\ninput = {dollars:f}\noutput = {dollars:f}\n'
        (config / "config.toml").write_text(more + prices, "utf-8")

    async def asks(budget: Json | None = None, **asked: Any) -> tuple[bool, float]:
        found = await bench.forecast("suggestion", SuggestionOrder(ticket(1), text, asked, budget or {}, OPERATORS))
        return found["mayCost"], found["cost_usd"]["most"]

    settings(1)
    ask, most = await asks()
    assert ask is (most > 0.05)
    assert (await asks(ask_above_usd=most))[0] is False
    assert (await asks(ask_above_usd=most * 0.99))[0] is True
    settings(1, f"suggest_ask_above_usd = {most * 0.5:f}\n")
    assert (await asks(ask_above_usd=most))[0] is True, "the user's settings allow less"
    assert (await asks({"usd": most * 0.4}, ask_above_usd=most))[0] is False, "it is bounded"
    assert (await asks({"usd": most * 0.6}, ask_above_usd=most))[0] is True
    settings(1, f"suggest_ask_above_usd = {most * 2:f}\n")
    assert (await asks())[0] is False
    for unit, bound, says, option in (("usd", 0.0000012, "0.000002", "usd"), ("tokens", 7, "7", "tokens")):
        order = SuggestionOrder(ticket(2), text, {}, {unit: bound}, OPERATORS)
        refused = await bench.refused(bench.do("suggestion", order))
        words = {"usd": "US dollars", "tokens": "tokens"}[unit]
        pattern = rf"A budget of [\d.]+ {words} is too small: the first question alone may use [\d.,]+ \(--budget-{option}\)\."
        assert re.fullmatch(pattern, refused), (refused, says)
    (config / "config.toml").unlink()
    unpriced = SuggestionOrder(ticket(3), text, {}, {"usd": 1}, OPERATORS)
    assert "The price of `test-model`" in await bench.refused(bench.forecast("suggestion", unpriced))
    assert bench.server.requests == []


@pytest.mark.slow
async def test_what_was_evaluated_is_shown_to_the_model_and_no_more(bench: Bench) -> None:
    text, asked = bench.text(VOICES), data(bench.folder, 16)
    answers = Advising(DRAFT, [said(candidate({"apply": "nonsense"}))])
    bench.server.answer = answers
    path = asked["dataset"]

    def order(number: int, flow: EditorWorkflow, **more: Any) -> SuggestionOrder:
        return SuggestionOrder(ticket(number), flow, {"n": 2, "datasets": (path,), **more}, operators=OPERATORS)

    def refusal(what: str) -> str:
        finds = f"merrow evaluate {text.name} --dataset {path} finds out what it gets wrong."
        return f"{text.name} {what}: {finds}"

    assert await bench.refused(bench.forecast("suggestion", order(1, text))) == refusal(
        f"was not evaluated on {path} yet"
    )
    await evaluated(bench, text, asked | {"part": "test"})
    assert await bench.refused(bench.forecast("suggestion", order(1, text))) == refusal(
        f"was evaluated on the part test of {path} alone, which is never shown"
    )
    first = text
    for number in range(7):
        await evaluated(bench, text, asked)
        if number < 6:
            text = bench.text(VOICES.replace("one sentence", f"{number + 2} sentences"))
    assert (await bench.forecast("suggestion", order(2, text)))["notices"] == []
    await bench.do("suggestion", order(2, text))
    question = answers.asked[0].body["messages"][1]["content"]
    tried = re.findall(r'\{"change": "([^"]*)", "score before": ([\d.]+), "score after": ([\d.]+)\}', question)
    assert tried == [("New prompt of B", "0.0", "0.0")] * 5
    shown = set(re.findall(r"What is (\d+) plus", question))
    evaluations = bench.session.kind("evaluation")
    await evaluated(bench, text, asked | {"part": "validate"})
    report = evaluations.report(evaluations.list(None, 1)[0]["evaluation"], None)
    assert 0 < len(shown) <= 5
    assert shown <= {row["item"].removeprefix("q") for row in report["rows"]}
    # One that was changed since has the failures of the last version, and no notice about it where there are any.
    changed = replace(first, text=VOICES.replace("step by step", "slowly"))
    assert (await bench.forecast("suggestion", order(3, changed)))["notices"] == []
    right = data(bench.folder, 16, "right.jsonl")
    bench.server.answer = lambda request: Reply(str(2 * int(re.findall(r"What is (\d+)", str(request.body))[-1])))
    single = bench.text(SINGLE, "single.mmd")
    await evaluated(bench, single, right)
    other = replace(single, text=SINGLE.replace("first", "other"))
    prepared = await bench.forecast("suggestion", order(4, other, datasets=(right["dataset"],)))
    assert prepared["notices"] == [f"The last evaluation on {right['dataset']} was before this change of the workflow."]
    again = order(4, single, datasets=(right["dataset"],))
    assert (await bench.forecast("suggestion", again))["notices"] == []
    Path(right["dataset"]).unlink()
    assert right["dataset"] in await bench.refused(bench.forecast("suggestion", again))


async def test_a_session_that_is_closed_ends_what_goes_on_and_says_so_in_the_journal(bench: Bench) -> None:
    session, text, asked = bench.session, bench.text(SINGLE), data(bench.folder)
    bench.server.answer = lambda _: Hang()
    run = bench.begin(Order(ticket(1), text, inputs=QUESTION))
    evaluation = asyncio.create_task(bench.do("evaluation", EvaluationOrder(ticket(2), text, asked)))
    asks = asyncio.Event()

    async def nobody_answers(_: Json) -> None:
        asks.set()
        await asyncio.Event().wait()

    order = EvaluationOrder(ticket(3), bench.text(CHAIN, "chain.mmd"), asked)
    asked_for = asyncio.create_task(session.desk.carry_out(session.kind("evaluation"), order, unheard, nobody_answers))
    await asks.wait()
    await bench.server.arrived(3)
    await session.close()
    assert (await run)["status"] == "cancelled"
    assert await bench.refused(_awaited(asked_for)) == "The evaluation was cancelled before it began."
    assert (await asyncio.gather(evaluation, return_exceptions=True))[0] is not None
    other = Session(Keys())
    assert [one["status"] for one in journal.list_runs(other, None, 9)[0]] == ["cancelled"]
    assert [one["status"] for one in other.kind("evaluation").list(None, 9)] == ["cancelled"]
    await other.close()


def test_work_is_done_in_a_thread_of_its_own_begun_by_the_first_and_ended_by_stop() -> None:
    worker = JobThread("test-runs")
    called: list[int] = []
    worker.call(called.append, 1)
    worker.stop(1)
    assert (worker.is_started, called) == (False, [])

    async def name() -> str:
        return threading.current_thread().name

    async def fail() -> None:
        raise LookupError("no")

    assert worker.submit(name).result(30) == "test-runs"
    assert worker.is_started
    with pytest.raises(LookupError, match="no"):
        worker.submit(fail).result(30)
    worker.call(called.append, 2)
    assert worker.submit(name).result(30) == "test-runs"
    assert called == [2]
    worker.stop(30)
    worker.call(called.append, 3)
    assert called == [2]
