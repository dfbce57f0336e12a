"""Both engines come to the same, and what the one has is known to the other."""

from __future__ import annotations

import json
import signal
import sys

import pytest
from tests.server.program import merrow, write
from tests.server.workers.cluster import (
    OWN,
    Shared,
    begun,
    data,
    made_again,
    newest,
    rows_of,
    waited,
    without_times,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_the_report_is_that_of_one_process_byte_for_byte(at: Shared) -> None:
    done = at.evaluate("--fresh", "--chunk", "3")
    assert done.code == 0, done.err
    spread = newest()
    assert made_again(at.server.requests) == (0, [])
    assert len(at.server.requests) == 120
    local = merrow("evaluate", "flow.mmd", *OWN, "--fresh")
    assert local.code == 0, local.err
    assert newest() != spread
    assert len(at.server.requests) == 240
    assert without_times(spread) == without_times(newest())
    assert "39 right, 1 wrong" in done.out


def test_what_is_known_is_not_asked_again_by_either_engine(at: Shared) -> None:
    write(
        "own.jsonl",
        "".join(json.dumps({"problem": f"Twice {n}?", "answer": str(2 * n)}) + "\n" for n in range(500, 520)),
    )
    assert at.evaluate().code == 0
    assert len(at.server.requests) == 60
    assert merrow("evaluate", "flow.mmd", *OWN).code == 0
    assert at.evaluate("--repeat", "2").code == 0  # at temperature 0 a repeat is known, too
    assert len(at.server.requests) == 60


def test_ctrl_c_ends_it_within_a_moment_and_either_engine_continues(at: Shared) -> None:
    data(300)
    own = ("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--scheduler", at.cluster.address)
    with at.server.holding(60):
        process = begun(*own)
        waited(lambda: len(at.server.requests) > 60)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "Stopped: what is finished is kept" in err
    assert "Traceback" not in out + err
    asked = len(at.server.requests)
    assert asked < 900
    evaluation = newest()
    assert merrow("show", evaluation, "--format", "json").json["status"] == "cancelled"
    done = merrow("resume", evaluation)
    assert done.code == 0, done.err
    again, used_before = made_again(at.server.requests)
    assert used_before == []
    assert again <= 2 * 2 * 15  # in flight: two workers, two chunks each
    assert len(rows_of(evaluation)) == 300


def test_cancel_from_another_process_and_resume_at_the_cluster(at: Shared) -> None:
    data(300)
    with at.server.holding(60):
        process = begun("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--scheduler", at.cluster.address)
        waited(lambda: len(at.server.requests) > 60)
        evaluation = newest()
        second = merrow("resume", evaluation, "--engine", "dask", "--scheduler", at.cluster.address)
        assert second.code == 2
        assert f"Evaluation {evaluation} can't continue. It is being worked on by process {process.pid}" in second.err
        cancelled = merrow("cancel", evaluation)
        assert cancelled.code == 0, cancelled.err
    _, err = process.communicate()
    assert process.returncode == 130, err
    done = merrow("resume", evaluation, "--engine", "dask", "--scheduler", at.cluster.address)
    assert done.code == 0, done.err
    assert made_again(at.server.requests)[1] == []
    assert len(rows_of(evaluation)) == 300


@pytest.mark.slow
def test_without_a_scheduler_it_starts_workers_on_this_machine(at: Shared) -> None:
    done = merrow("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--base-url", at.server.base_url)
    assert done.code == 0, done.err
    assert len(at.server.requests) == 120
    assert made_again(at.server.requests) == (0, [])
    with at.server.holding(130):
        process = begun("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask")
        waited(lambda: len(at.server.requests) > 130)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in out + err


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1])
def test_sets_of_no_line_and_of_one(at: Shared, count: int) -> None:
    data(count, "few.jsonl")
    own = ("--dataset", "few.jsonl", "--gold", "answer", "--metric", "numeric", "--fresh")
    done = merrow("evaluate", "flow.mmd", *own, "--engine", "dask", "--scheduler", at.cluster.address)
    local = merrow("evaluate", "flow.mmd", *own)
    assert done.code == local.code == (0 if count else 2), done.err
    if not count:
        assert done.err == local.err
    assert len(at.server.requests) == 6 * count


@pytest.mark.slow
def test_a_table_is_answered_by_workers_too(at: Shared) -> None:
    done = at.evaluate("--fresh", "--models", "m-1,m-2", "--override-models", "--format", "json")
    assert done.code == 0, done.err
    assert [cell["score"] for cell in done.json["cells"]] == [39 / 40, 39 / 40]
    assert len(at.server.requests) == 240


def test_workers_have_the_same_model_play_people(at: Shared) -> None:
    write(
        "asks.mmd",
        "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
        "    PROBLEM --> ASK@{op: Human, ask: 'How many?', returns: Number} --> RETURN\n    classDef Interface fill:#eee\n",
    )
    given = ("evaluate", "asks.mmd", *OWN, "--person", "judge-1", "--limit", "10")
    done = merrow(*given, "--engine", "dask", "--scheduler", at.cluster.address)
    assert done.code == 0, done.err
    assert "SIMULATED PERSON: the model judge-1 answers in the place of people." in done.out
    assert {request.body["model"] for request in at.server.requests} == {"judge-1"}
    assert len(at.server.requests) == 10
    spread = newest()
    assert merrow(*given).code == 0
    assert len(at.server.requests) == 10  # all of it is known
    assert rows_of(spread) == rows_of(newest())
