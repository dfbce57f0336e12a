"""Runs that ask people, killed right after commits, and judged by what the endpoint was asked and what the journal has.

.venv/bin/python -m tests.runtime.people.kills 300
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.patience import PATIENCE
from tests.runtime.composites.loops import asks, box, custom
from tests.runtime.engine.fakes import FakeEndpoint, flowchart
from tests.runtime.people.asking import MOOD, person

import merrow_runtime
from merrow_runtime.people.answering import QuestionClosedError, answer, open_questions
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.address import configured
from merrow_runtime.store.connection import DatabaseConnection
from merrow_runtime.store.contract import RunRecord
from merrow_runtime.store.database import Store
from merrow_runtime.visit import Visit

KILLED = 9
AGAIN = "AGAIN"
TURNS = 2
CALLS = Counter({"FIRST": 1, "WRITE": TURNS, "IN": 2, "END": 1})
QUESTIONS = ["L[1]/LOOK", "L[2]/LOOK", "M[1]/GO/ASK", "M[2]/GO/ASK", "ONE", "THREE", "TWO"]
LATE_CALLS = Counter({"S1": 1, "S2": 1, "S3": 1, "END": 1})
LATE_QUESTIONS = ["L[1]/LOOK", "L[2]/LOOK", "L[3]/LOOK", "MAY", "ONE"]
UNANSWERED = "nobody said"


def write(folder: Path) -> Path:
    """A Loop with a question inside, three questions at once, and a Map of Calls that ask."""
    (folder / "merrow.toml").touch()
    inner = [person("ASK"), 'IN["Custom (prompt: IN)"]:::CustomOp', "PROBLEM --> ASK --> IN --> RETURN"]
    (folder / "inner.mmd").write_text(flowchart(*inner))
    file = folder / "main.mmd"
    lines = [
        'FIRST["Custom (prompt: FIRST, returns: list[Problem])"]:::CustomOp',
        *box("L", "Loop (max: 4)", custom("WRITE"), person("LOOK", "returns: Mood"), "D{which?}:::DecisionOp"),
        *box("M", "Map ()", 'GO@{op: Call, workflow: "./inner.mmd"}'),
        *(person(name) for name in ("ONE", "TWO", "THREE")),
        custom("END"),
        "PROBLEM -->|input| FIRST",
        "FIRST --> WRITE -->|input| LOOK",
        "FIRST --> ONE & TWO & THREE",
        "FIRST -->|each:PROBLEM| GO",
        "LOOK -->|when| D",
        "WRITE -->|value| D",
        "D -->|bad:again:input| WRITE",
        "D -->|good| END",
        "WRITE -->|over| END",
        "GO & ONE & TWO & THREE --> END --> RETURN",
    ]
    file.write_text(flowchart(*lines, front=MOOD))
    return file


def write_late(folder: Path) -> Path:
    """A Loop whose questions have a deadline that soon passes, a branch beside it that works on, a question that may be declined,
    and one that has to be answered.
    """
    default = f'on_error: default, default: "{UNANSWERED}"'
    file = folder / "late.mmd"
    lines = [
        *box("L", "Loop (max: 3)", custom("WRITE"), person("LOOK", f"deadline: 0.3, {default}")),
        *(custom(name) for name in ("S1", "S2", "S3", "END")),
        person("ONE"),
        person("MAY", f"deadline: 2d, {default}"),
        "PROBLEM -->|first:input| WRITE -->|input| LOOK -.->|again:input| WRITE",
        "PROBLEM --> S1 & ONE & MAY",
        "S1 --> S2 --> S3",
        "LOOK & S3 & ONE & MAY --> END --> RETURN",
    ]
    file.write_text(flowchart(*lines))
    return file


def _endpoint(log: Path, known: set[str]) -> FakeEndpoint:
    """It writes down what it is asked before it answers, and whether that is ``known`` by now; no two answers of it are alike."""

    def said(request: ModelRequest) -> str:
        name = asks(request)
        answer = '{"response": ["p", "q"]}' if name == "FIRST" else f"{name}: {request.messages[-1].content}"
        with log.open("a") as file:
            file.write(f"{name}\n" + (f"{AGAIN}\n" if answer in known else ""))
        return answer

    return FakeEndpoint(said)


def _die_after(commits: int) -> None:
    """From now on, end this process right after so many transactions, as a kill does."""
    number = count(1)

    def dying(work: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any, **named: Any) -> Any:
            result = work(*given, **named)
            if next(number) == commits:
                os._exit(KILLED)
            return result

        return done

    kinds: list[tuple[Any, str]] = [(DatabaseConnection, "transaction")]
    if configured() is not None:
        from merrow_runtime.store.postgres.connection import PostgresConnection

        kinds = [(PostgresConnection, name) for name in ("transaction", "commit", "changed")]
    for kind, name in kinds:
        setattr(kind, name, dying(getattr(kind, name)))


def _work(file: Path, log: Path, commits: int, seed: int) -> None:
    """Begin the run or go on with it, answer what it asks in some order, and die meanwhile."""
    draw = Random(seed)
    _die_after(commits)

    async def work() -> None:
        with closing(Store.open()) as store:
            known = {str((call.result or {}).get("content")) for run in store.runs() for call in store.calls(run.id)}
            endpoint = _endpoint(log, known)
            while True:
                runs = store.runs()
                if runs and runs[0].status == "finished":
                    return
                run = runs[0].id if runs else ""
                waiting = open_questions(store, run) if run else []
                if not run:
                    await merrow_runtime.start(file, {"problem": "x"}, endpoint=endpoint, store=store).result()
                elif runs[0].status != "waiting" or store.ready():
                    await merrow_runtime.resume(run, endpoint=endpoint, store=store).result()
                elif file.stem == "late":
                    await _answered_or_not(store, run, draw)
                else:
                    name = draw.choice(waiting).visit.name
                    good = name.endswith("LOOK") and f"[{TURNS}]" in name
                    answer(store, run, name, "good" if good else "bad" if name.endswith("LOOK") else f"for {name}")

    asyncio.run(work())
    os._exit(0)


async def _answered_or_not(store: Store, run: str, draw: Random) -> None:
    """Somebody answers a question, declines to where the run can do without, or nobody does for a moment."""
    waiting = open_questions(store, run)
    if not waiting or draw.random() < 0.5:
        await asyncio.sleep(0.05)
        return
    name = draw.choice(waiting).visit.name
    declines = name == "MAY" and draw.random() < 0.5
    with suppress(QuestionClosedError):  # its deadline has passed by now
        answer(store, run, name, None if declines else f"for {name}")


def tried(folder: Path, seed: int, most: int = 12) -> int:
    """One run to its end, through as many kills as come, each after up to ``most`` commits; how many. Odd seeds are of questions
    whose deadlines pass. Raises AssertionError where anything was lost or came twice.
    """
    file = (write_late if seed % 2 else write)(folder)
    log, draw = folder / "asked.log", Random(seed)
    forks = multiprocessing.get_context("fork")
    kills = 0
    while True:
        process = forks.Process(target=_work, args=(file, log, draw.randint(1, most), draw.randrange(1_000_000)))
        process.start()
        process.join(PATIENCE)
        assert process.exitcode in (0, KILLED), process.exitcode
        if process.exitcode == 0:
            break
        kills += 1
        assert kills < 500, "the run does not come to its end"
    asked = Counter(log.read_text().split())
    with closing(Store.open()) as store:
        (run,) = store.runs()
        assert run.status == "finished", run.error
        wanted = (_late_questions if seed % 2 else _questions)(store, run)
    # What else is written, as a question or a sign of life, may be committed while a call is in flight.
    again = asked - wanted
    assert AGAIN not in asked, "what the journal had was asked again"
    assert not wanted - asked, asked
    assert again.total() <= kills, asked
    return kills


def _questions(store: Store, run: RunRecord) -> Counter[str]:
    """How often the endpoint is to be asked for each node."""
    questions = store.asks(run.id)
    assert sorted(ask.visit.name for ask in questions) == QUESTIONS
    assert {ask.state for ask in questions} == {"answered"}
    answers = [call for call in store.calls(run.id) if call.kind == "person"]
    assert sorted(call.key.visit.name for call in answers) == QUESTIONS
    for ask in questions:
        assert [call.result["content"] for call in answers if call.key.visit == ask.visit] == [ask.answer]
        if "LOOK" not in ask.visit.name:
            assert ask.answer == {"answer": f"for {ask.visit.name}"}
            assert f"for {ask.visit.name}" in str(run.outputs)
    return CALLS


def _late_questions(store: Store, run: RunRecord) -> Counter[str]:
    """The same, where what the journal has of each question is what its node gave, and what follows was asked with."""
    questions = store.asks(run.id)
    assert sorted(ask.visit.name for ask in questions) == LATE_QUESTIONS
    assert {ask.state for ask in questions} <= {"answered", "declined", "expired"}
    given = {one.visit: one for one in store.nodes(run.id)}
    read = {one.visit: str(one.outputs) for one in given.values()}
    calls = Counter(call.key.visit for call in store.calls(run.id) if call.kind == "person")
    for ask in questions:
        name, was_answered = ask.visit.name, ask.state == "answered"
        said = f"for {name}" if was_answered else UNANSWERED
        assert (given[ask.visit].outputs or {})["answer"] == said, (name, ask.state)
        assert ask.answer == ({"answer": said} if was_answered else None)
        assert was_answered or name != "ONE"
        assert ask.state != "expired" or "LOOK" in name
        assert ask.due is None or ask.answered is None or ask.answered < ask.due
        assert calls[ask.visit] in ((1,) if was_answered else (0, 1))
        turn = int(name[2]) if "LOOK" in name else 3
        assert said in read[Visit("WRITE", f"L[{turn + 1}]") if turn < 3 else Visit("END")]
    # A turn that is told what another one was is the same question to the model.
    different = {read[Visit("LOOK", f"L[{turn}]")] for turn in (1, 2)}
    STATES.update(ask.state for ask in questions)
    return LATE_CALLS + Counter(WRITE=1 + len(different))


STATES: Counter[str] = Counter()
"""How the questions with deadlines ended, of all runs of this process."""


def main() -> None:
    """Try runs until there were as many kills as the first argument says."""
    wanted, kills, runs = int(sys.argv[1]), 0, 0
    while kills < wanted:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["MERROW_STATE_DIR"] = f"{folder}/state"
            kills += tried(Path(folder), seed=runs)
            runs += 1
    sys.stdout.write(
        f"{kills} kills over {runs} runs: nothing lost, asked or answered twice, no known call made again; {dict(STATES)}\n"
    )


if __name__ == "__main__":
    main()
