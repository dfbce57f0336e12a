"""Plans and suggestions as jobs: in the journal by an id, listed, shown, ended from elsewhere, and continued without asking again
for what was answered. What the endpoint on loopback was asked is the judge.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.optimizer.planning.plans import answer, merrow_form, plan_of
from tests.optimizer.suggestions.scripted import FLOW, Model, candidate, is_judging, prompt, said, setting
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write

TASK = "Make a web page for our conference."
MODEL = Model(said(candidate(prompt("Check each step."), title="Check the steps"), candidate(setting("samples", 3))))


def plans(request: Received) -> Step:
    """A plan, another one for each time that one is asked for, and what they cover."""
    if "plans of it" in request.prompt:
        return Reply(json.dumps({"requirements": [{"requirement": "r", "met_by": [{"plan": 1, "task": "A"}]}]}))
    return Reply(answer(merrow_form(plan_of("ABC", "AB", "BC"))))


@dataclass(frozen=True)
class Kind:
    """A kind: how it is asked for, who answers, which requests come last, and how many come before those at least."""

    name: str
    command: tuple[str, ...]
    answer: Callable[[Received], Step]
    is_last: Callable[[Received], bool]
    first: int
    last: int


KINDS = (
    Kind("plan", ("plan", TASK, "--fresh"), plans, lambda request: "plans of it" in request.prompt, 3, 1),
    Kind("suggestion", ("suggest", "flow.mmd", "--yes", "--fresh"), MODEL, is_judging, 1, 2),
)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))


@dataclass
class Endpoint:
    """Answers as a kind's model does, but for what is ``held``: that hangs. ``asked`` are the requests by what they say."""

    server: OpenAIServer
    held: Callable[[Received], bool] = lambda _: False
    answer: Callable[[Received], Step] = plans
    reached: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self, request: Received) -> Step:
        if self.held(request):
            self.reached.release()
            return Hang()
        return self.answer(request)

    @property
    def asked(self) -> list[Received]:
        return list(self.server.requests)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        found = Endpoint(server)
        server.answer = found
        write("flow.mmd", FLOW)
        yield found


@contextlib.contextmanager
def at_work(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program in a process of its own, ended with this if it was not before."""
    program = [sys.executable, "-m", "merrow_server", *command]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ.copy()) as running:
        try:
            yield running
        finally:
            running.kill()


def the_only(kind: Kind) -> dict[str, Any]:
    (found,) = merrow("runs", "--kind", kind.name, "--format", "json").json
    assert isinstance(found, dict)
    return found


def held_at_the_last(endpoint: Endpoint, kind: Kind) -> None:
    """From here on what a kind asks last hangs."""
    endpoint.answer, endpoint.held = kind.answer, kind.is_last


@each_kind
def test_one_that_was_killed_continues_with_what_is_missing(endpoint: Endpoint, kind: Kind) -> None:
    held_at_the_last(endpoint, kind)
    with at_work(*kind.command) as running:
        for _ in range(kind.last):
            assert endpoint.reached.acquire(timeout=PATIENCE)
        running.kill()
        running.wait()
    found = the_only(kind)
    assert (found["status"], found["report"], found["usage"]["calls"]) == ("interrupted", None, kind.first)
    row = next(one for one in merrow("runs", "--kind", "all", "--format", "json").json if one["kind"] == kind.name)
    assert (row["id"], row["status"]) == (found[kind.name], "interrupted")

    endpoint.held = lambda _: False
    before = len(endpoint.asked)
    assert before == kind.first + kind.last
    resumed = merrow("resume", "--json")
    assert resumed.code == 0, resumed.err
    asked = endpoint.asked[before:]
    assert [kind.is_last(one) for one in asked] == [True] * kind.last
    told = resumed.json
    assert told[kind.name] == found[kind.name]
    assert told["usage"]["calls"] == kind.first + kind.last
    assert told[f"{kind.name}s"]

    count = len(endpoint.asked)
    again = merrow("resume", found[kind.name], "--json").json
    assert again == merrow("show", found[kind.name], "--format", "json").json
    assert (again["status"], {**again["report"], kind.name: again[kind.name]}) == ("finished", told)
    assert len(endpoint.asked) == count
    spent = json.loads(merrow("costs", "--format", "json").out)["rows"]
    assert sum(one["calls"] for one in spent) == count, "all that were sent are counted, those without an answer too"


def kept_answers() -> int:
    """How many answers the journal has of jobs."""
    with (
        contextlib.suppress(sqlite3.OperationalError),
        contextlib.closing(
            sqlite3.connect(Path(os.environ["MERROW_STATE_DIR"]) / "runs.sqlite", timeout=PATIENCE)
        ) as journal,
    ):
        return int(journal.execute("SELECT count(*) FROM kept").fetchone()[0])
    return 0


def test_of_plans_asked_for_at_once_only_the_missing_one_is_asked_for(endpoint: Endpoint) -> None:
    lock, come = threading.Lock(), Counter[str]()

    def third(request: Received) -> bool:
        with lock:
            come["plan"] += 1
            return come["plan"] == 2

    endpoint.held = third
    with at_work("plan", TASK, "--fresh", "-o", "flow2.mmd") as running:
        deadline = time.monotonic() + PATIENCE
        while kept_answers() < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        running.kill()
        running.wait()
    assert len(endpoint.asked) == 3
    done = merrow("resume")
    assert done.code == 0, done.err
    assert Counter("plans of it" in one.prompt for one in endpoint.asked[3:]) == {False: 1, True: 1}
    assert done.out.endswith("flow2.mmd is written.\n")
    assert Path("flow2.mmd").is_file()


@each_kind
def test_one_is_ended_from_elsewhere_and_continues(endpoint: Endpoint, kind: Kind) -> None:
    held_at_the_last(endpoint, kind)
    with at_work(*kind.command) as running:
        assert endpoint.reached.acquire(timeout=PATIENCE)
        identity = the_only(kind)[kind.name]
        assert merrow("runs", "--kind", kind.name, "--delete", identity).code != 0, "it is worked on"
        asked_to_end = merrow("cancel", identity)
        assert asked_to_end.code == 0, asked_to_end.err
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert f"merrow resume {identity}" in errors.decode()
    assert the_only(kind)["status"] == "cancelled"
    assert merrow("cancel", identity).code == 1
    endpoint.held = lambda _: False
    assert merrow("resume", identity).code == 0
    assert the_only(kind)["status"] == "finished"
    assert merrow("runs", "--kind", kind.name, "--delete", identity).code == 0
    assert merrow("runs", "--kind", kind.name, "--format", "json").json == []
    assert not list(Path(os.environ["MERROW_STATE_DIR"], "evaluations").glob(f"{identity}*"))


@each_kind
def test_a_budget_counts_what_was_used_before(endpoint: Endpoint, kind: Kind) -> None:
    endpoint.answer = kind.answer
    refused = merrow(*kind.command, "--budget-tokens", "10")
    assert (refused.code in (1, 2), "budget" in refused.err.lower(), endpoint.asked) == (True, True, [])
    with contextlib.suppress(ValueError):
        merrow("runs", "--kind", kind.name, "--delete", the_only(kind)[kind.name])

    held_at_the_last(endpoint, kind)
    with at_work(*kind.command) as running:
        assert endpoint.reached.acquire(timeout=PATIENCE)
        running.kill()
        running.wait()
    endpoint.held = lambda _: False
    found, before = the_only(kind), len(endpoint.asked)
    used = found["usage"]["prompt_tokens"] + found["usage"]["completion_tokens"]
    stopped = merrow("resume", found[kind.name], "--budget-tokens", str(used))
    assert f"merrow resume {found[kind.name]}" in stopped.err
    assert len(endpoint.asked) == before
    found = the_only(kind)
    assert found["status"] == "stopped"
    assert f"is used up ({used} used)" in found["error"], "what was used before counts"
    done = merrow("resume", found[kind.name], "--budget-tokens", str(used + 10**6), "--json")
    assert done.code == 0, done.err
    assert [kind.is_last(one) for one in endpoint.asked[before:]] == [True] * kind.last
    assert done.json["usage"]["calls"] == kind.first + kind.last


@each_kind
def test_another_endpoint_is_not_mixed_in_unsaid(endpoint: Endpoint, kind: Kind) -> None:
    held_at_the_last(endpoint, kind)
    with at_work(*kind.command) as running:
        assert endpoint.reached.acquire(timeout=PATIENCE)
        running.kill()
        running.wait()
    identity = the_only(kind)[kind.name]
    with serving(kind.answer) as other:
        refused = merrow("resume", identity, "--base-url", other.base_url)
        assert (refused.code, "--reuse any" in refused.err) == (2, True)
        assert "goes by the answers that it has" in merrow("resume", identity, "--reuse", "same").err
        assert not other.requests
        done = merrow("resume", identity, "--base-url", other.base_url, "--reuse", "any", "--json")
        assert done.code == 0, done.err
        assert [kind.is_last(one) for one in other.requests] == [True] * kind.last


def test_what_was_known_before_is_no_job(endpoint: Endpoint) -> None:
    first = merrow("plan", TASK, "--format", "json").json
    again = merrow("plan", TASK, "--format", "json").json
    assert (first["plans"], again["plan"]) == (again["plans"], None)
    assert [one["plan"] for one in merrow("runs", "--kind", "plan", "--format", "json").json] == [first["plan"]]


def test_suggestions_continue_with_the_workflow_that_they_were_asked_for(endpoint: Endpoint) -> None:
    kind = KINDS[1]
    held_at_the_last(endpoint, kind)
    with at_work(*kind.command) as running:
        assert endpoint.reached.acquire(timeout=PATIENCE)
        running.kill()
        running.wait()
    endpoint.held = lambda _: False
    write("flow.mmd", "flowchart TD\n")
    done = merrow("resume")
    assert done.code == 0, done.err
    assert "New prompt of A" in done.out
    assert Path("flow.mmd").read_text("utf-8") == "flowchart TD\n"
    refused = merrow("show", the_only(kind)["suggestion"], "--node", "A")
    assert (refused.code, "is a suggestion" in refused.err) == (2, True)
