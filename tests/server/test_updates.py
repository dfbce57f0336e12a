"""Updates of a run as Flow publishes them: candidates ranked, tasks bypassed, changed tasks counted."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Event, Lock
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import merrow, write

from merrow_optimizer.planning.ranking import RULES
from merrow_optimizer.planning.task_graph import PlannedTask, TaskGraph
from merrow_optimizer.revising.model import ModelReviser
from merrow_runtime import RunOptions, start
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.memory import MemoryStore

FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "do A"}
    B@{op: Custom, prompt: "do B"}
    C@{op: Custom, prompt: "do C"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> C --> RETURN
"""
CHAIN = {
    "reason": "in a row",
    "changes": [{"do": "add", "id": "D", "objective": "do D", "after": ["B"], "before": ["C"]}],
}
BESIDE = {
    "reason": "at once",
    "changes": [{"do": "add", "id": "C1", "objective": "do C1", "after": ["A"], "before": ["C"]}],
}
BAD = {"reason": "no", "changes": [{"do": "edit", "id": "NOPE", "objective": "x"}]}


def is_reviser(request: Received) -> bool:
    return str(request.body["messages"][0]["content"]).startswith("You look after")


def task_of(request: Received) -> str:
    return str(request.body["messages"][0]["content"]).split("\n")[0]


class Said:
    """What the reviser answers, one question after the other; tasks answer with their objective, unless ``failing`` has it."""

    def __init__(self, *answers: Any, failing: str = "") -> None:
        self.answers, self.failing, self.lock = list(answers), failing, Lock()

    def __call__(self, request: Received) -> Step:
        if not is_reviser(request):
            told = task_of(request)
            return (
                Status(400, json.dumps({"error": {"message": "can't"}}))
                if told == self.failing
                else Reply(f"done: {told}")
            )
        with self.lock:
            said = self.answers.pop(0) if self.answers else {}
        return Reply(said if isinstance(said, str) else json.dumps(said))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Serves a script on loopback: ``place(Said(...))``."""
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)

        def serve(said: Said) -> OpenAIServer:
            server.answer = said
            return server

        yield serve


RUN = ("run", "flow.mmd", "--input", "problem=x", "--refine", "--refine-every", "2", "--refine-max", "1")


@pytest.mark.parametrize(("rank", "wins"), [("paper", "C1"), ("kept", "D")])
def test_of_several_answers_the_rule_chooses_and_the_run_says_which(place: Any, rank: str, wins: str) -> None:
    """The first of equals is used where all keep the same; the paper's rule takes the one with more tasks a step."""
    server = place(Said(BAD, CHAIN, BESIDE))
    done = merrow(*RUN, "--refine-rank", rank, "--refine-candidates", "3", "--json")
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    (applied,) = [one for one in events if one["event"] == "revision_applied"]
    assert wins in applied["diff"]["added"]
    several = applied["diff"]["candidates"]
    # One answer could not be used and was asked for again: its second answer changes nothing.
    assert [sorted(one) for one in several] == [["candidate", "chosen", "complexity", "kept", "parallelism"]] * 3
    assert [one["chosen"] for one in several].count(True) == 1
    figures = {(one["parallelism"], one["complexity"]): one["chosen"] for one in several}
    assert figures[4 / 3, 0.0] is (rank == "paper")
    shown = merrow("show").out
    assert f"answer {next(one['candidate'] for one in several if one['chosen'])} of 3 (parallelism " in shown
    assert sum(map(is_reviser, server.requests)) == 4


def test_three_answers_are_asked_for_where_the_rank_is_the_papers(place: Any) -> None:
    server = place(Said())
    write("flow.mmd", FLOW.replace("model: m-1", "model: m-1, refine: {every: 2, max: 1, rank: paper}"))
    assert merrow("run", "flow.mmd", "--input", "problem=x").code == 0
    assert sum(map(is_reviser, server.requests)) == 3
    wrong = merrow("check", str(write("bad.mmd", FLOW.replace("model: m-1", "model: m-1, refine: {rank: best}"))))
    assert wrong.code == 1
    assert "rank" in wrong.out + wrong.err


def test_without_any_answer_that_can_be_used_the_run_goes_on_as_it_was(place: Any) -> None:
    place(Said(*["nothing"] * 12))
    done = merrow(*RUN, "--refine-rank", "paper")
    assert (done.code, done.out) == (0, "done: do C\n")
    assert "revision 1 (every) refused" in merrow("show").out


@pytest.mark.parametrize("do", ["bypass", "remove"])
def test_a_task_that_can_not_be_done_is_bypassed_and_everything_says_so(place: Any, do: str) -> None:
    server = place(Said({"reason": "It can't be done.", "changes": [{"do": do, "id": "B"}]}, failing="do B"))
    done = merrow(*RUN, "--json")
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    (applied,) = [one for one in events if one["event"] == "revision_applied"]
    assert (applied["trigger"], applied["diff"]["bypassed"]) == ("failure", ["B"])
    assert events[-1]["outputs"] == {"RETURN": "done: do C"}
    tasks = Counter(task_of(one) for one in server.requests if not is_reviser(one))
    assert tasks == {"do A": 1, "do B": 1, "do C": 1}
    # The successor gets what the task that is left out was given.
    (last,) = [one for one in server.requests if task_of(one) == "do C"]
    assert "done: do A" in last.prompt
    report = merrow("show", "--format", "json").json
    (b,) = [one for one in report["nodes"] if one["node"] == "B"]
    assert (b["status"], b["bypassed"]) == ("failed", 1)
    assert report["updates"] == {"initial": 3, "changed": ["B", "C"], "ratio": pytest.approx(2 / 3)}
    text = merrow("show").out
    assert "bypassed by revision 1" in text
    assert "initial tasks 3, changed 2 (67%): B, C" in text
    assert "bypassed: B" in text
    assert "bypassed by revision 1" in merrow("show", "--node", "B").out


def test_what_is_watched_says_that_a_task_is_bypassed(place: Any) -> None:
    place(Said({"changes": [{"do": "bypass", "id": "B"}]}, failing="do B"))
    assert "B is bypassed" in merrow(*RUN).err


def test_a_successor_with_other_results_does_not_get_the_problem_in_place_of_one(place: Any) -> None:
    """What is left out had only the problem: who else has results goes on with those alone."""
    server = place(Said({"changes": [{"do": "bypass", "id": "B"}]}, failing="do B"))
    write("flow.mmd", FLOW.replace("PROBLEM --> A --> B --> C", "PROBLEM --> A --> C\n    PROBLEM --> B --> C"))
    done = merrow(*RUN)
    assert done.code == 0, done.err
    (last,) = [one for one in server.requests if task_of(one) == "do C"]
    assert last.prompt.split("\n")[-1] == "done: do A"


def test_an_update_that_is_killed_asks_nothing_twice(place: Any) -> None:
    """Two of three candidates have answered when the process is killed; a resume asks the third one alone."""
    third, answered = Event(), Lock()
    count = 0

    def slow(request: Received) -> Step:
        nonlocal count
        if is_reviser(request):
            with answered:
                count += 1
                if count == 3:
                    third.set()
                    return Reply(json.dumps(BESIDE), delay=3600)
            return Reply(json.dumps(CHAIN if count == 1 else BESIDE))
        return Reply(f"done: {task_of(request)}")

    server = place(Said())
    server.answer = slow
    command = [sys.executable, "-m", "merrow_server", *RUN, "--refine-rank", "paper", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert third.wait(PATIENCE)
        _wait_for_answers(2)
    finally:
        process.kill()
        process.wait()
    before = len(server.requests)
    assert before == 5
    resumed = merrow("resume", merrow("runs", "--format", "json").json[0]["run"])
    assert resumed.code == 0, resumed.err
    tasks = Counter(task_of(one) for one in server.requests if not is_reviser(one))
    assert tasks == {"do A": 1, "do B": 1, "do C": 1, "do C1": 1}
    assert sum(map(is_reviser, server.requests)) == 4


def _wait_for_answers(count: int) -> None:
    """Until the journal has so many answers of the reviser."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        report = merrow("show", "--format", "json").json
        asked = [call for node in report["nodes"] if node["id"] == "@revise" for call in node["calls"]]
        if len(asked) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the answers do not come")


def graph(tasks: Mapping[str, tuple[str, ...]]) -> TaskGraph:
    return TaskGraph(tuple(PlannedTask(name, "", after=after) for name, after in tasks.items()))


def test_the_rule_is_the_papers() -> None:
    """Workflow 1 and 2 of the paper have the same parallelism; 1 has the lower deviation of degrees."""
    first = {"A": (), "B": (), "C": ("A", "B"), "D": ("A", "B", "C")}
    second = {"A": (), "B": (), "C": ("A", "B"), "D": ("C",)}
    shown = [one.shown for one in RULES["paper"].figures([graph(first), graph(second)])]
    assert shown == [
        {"parallelism": pytest.approx(4 / 3), "complexity": 0.5},
        {"parallelism": pytest.approx(4 / 3), "complexity": pytest.approx(0.8660, abs=1e-4)},
    ]


CHANGES = some.lists(
    some.one_of(
        some.fixed_dictionaries(
            {"do": some.sampled_from(["remove", "bypass", "redo"]), "id": some.sampled_from("ABCDE")}
        ),
        some.fixed_dictionaries(
            {
                "do": some.just("edit"),
                "id": some.sampled_from("ABCDE"),
            }
        ).map(lambda change: {**change, "objective": f"do {change['id']} well"}),
        some.fixed_dictionaries(
            {
                "do": some.just("add"),
                "id": some.sampled_from(["N1", "N2"]),
                "after": some.lists(some.sampled_from("ABCDE"), max_size=2, unique=True),
                "before": some.lists(some.sampled_from("CDE"), max_size=2, unique=True),
            }
        ).map(lambda change: {**change, "objective": f"do {change['id']}"}),
        some.fixed_dictionaries(
            {
                "do": some.sampled_from(["link", "unlink"]),
                "from": some.sampled_from("ABCD"),
                "to": some.sampled_from("BCDE"),
            }
        ),
    ),
    max_size=3,
)


@settings(deadline=None, max_examples=40)
@given(
    answers=some.lists(some.lists(CHANGES, min_size=2, max_size=2), max_size=3),
    rank=some.sampled_from(["paper", "kept"]),
)
def test_an_update_never_loses_a_finished_result(answers: list[list[list[dict[str, Any]]]], rank: str) -> None:
    """Whatever is answered: a task with the same objective and inputs is asked once, and its result stays in the journal."""
    left = [json.dumps({"reason": "so", "changes": one}) for both in answers for one in both]
    asked: Counter[tuple[str, ...]] = Counter()

    def answer(request: ModelRequest) -> str:
        if request.messages[0].content.startswith("You look after"):
            return left.pop(0) if left else "{}"
        asked[tuple(one.content for one in request.messages)] += 1
        return f"done: {request.messages[0].content}"[:60]

    lines = [f'{one}["Custom (prompt: do {one})"]:::CustomOp' for one in "ABCDE"]
    edges = ["PROBLEM -->|input| A", "PROBLEM -->|input| B", "A -->|input| C", "B -->|input| C", "B -->|input| D",
             "C -->|input| E", "D -->|input| E", "E --> RETURN"]  # fmt: skip
    store = MemoryStore()
    options = RunOptions(refine={"every": 1, "max": 3, "candidates": 2, "rank": rank})

    async def whole() -> RunResult:
        begun = start(
            workflow(*lines, *edges), {"problem": "x"}, endpoint=FakeEndpoint(answer), store=store, run_id="r",
            reviser=ModelReviser(), options=options,
        )  # fmt: skip
        return await begun.result()

    result = asyncio.run(whole())
    assert result.status == "finished"
    made_again = any(change["do"] == "redo" for both in answers for one in both for change in one)
    assert made_again or set(asked.values()) <= {1}
    journal = Counter(
        tuple(message["content"] for message in call.request["messages"])
        for call in store.calls("r")
        if call.key.node != "@revise" and call.origin == "endpoint"
    )
    assert journal == asked


def test_updates_are_counted_and_timed_beside_the_same_data_without_them(place: Any) -> None:
    """Item 0 is bypassed and item 1 is left as it is; the table has both ways with calls, seconds, success, changed tasks."""
    server = place(Said())

    def answer(request: Received) -> Step:
        if is_reviser(request):
            changes = [{"do": "edit", "id": "C", "objective": "do C well"}] if "number 0" in request.prompt else []
            return Reply(json.dumps({"reason": "so", "changes": changes}))
        number = "0" if "number 0" in request.prompt or "item 0" in request.prompt else "1"
        return Reply(("yes" if task_of(request) == "do C well" else "no") + f", item {number}")

    server.answer = answer
    write("own.jsonl", "".join(json.dumps({"problem": f"number {n}", "answer": "yes"}) + "\n" for n in range(2)))
    asked = ("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains", "--fresh")
    refined = (*asked, "--refine", "both", "--refine-every", "2", "--refine-max", "1")
    without, updated = merrow(*refined, "--format", "json").json["cells"]
    assert "updates" not in without
    assert updated["updates"] == {"initial": 3, "changed": 0.5, "ratio": pytest.approx(1 / 6), "updated": 1}
    assert (without["usage"]["calls"], updated["usage"]["calls"]) == (6, 8)
    assert (without["score"], updated["score"]) == (0.0, 0.5)
    assert updated["answer_seconds"]["mean"] > 0
    table = merrow(*refined).out
    heads, *rows = table.splitlines()[:3]
    assert [word for word in heads.split() if word in ("CALLS", "SECONDS", "TASKS")] == ["CALLS", "SECONDS", "TASKS"]
    assert [" 0.5 of 3 (17%)" in row for row in rows] == [False, True]
    assert all(" ± " in row for row in rows)
    shown = merrow("show", updated["evaluation"])
    assert "Initial tasks 3, changed 0.5 (17%) on average; updates in 1 answer." in shown.out
    assert "Initial tasks 3, changed 0.5 (17%)" in merrow("show", updated["evaluation"], "--format", "html").out
    compared = merrow("evaluate", "--compare", without["evaluation"], updated["evaluation"])
    assert compared.code == 0, compared.err
    assert compared.out.count(" s per answer") == 2
    assert "6 calls" in compared.out
    assert "8 calls" in compared.out
