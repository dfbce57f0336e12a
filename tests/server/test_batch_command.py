"""Every row of a data set answered, and written into a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.runtime.openai_server import OpenAIServer, Reply, Status
from tests.server.program import Outcome, in_process, write
from tests.server.test_scored_fields import FIELDS, MAILS, answer, server

__all__ = ["server"]

GIVEN = ("flow.mmd", "--dataset", "mails.csv", "--map", "problem=text")


def batch(capsys: pytest.CaptureFixture[str], *more: str) -> Outcome:
    return in_process(capsys, "batch", *GIVEN, *more)


def table(file: str) -> list[dict[str, str]]:
    with Path(file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_each_row_has_its_columns_and_those_of_the_answer(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    dry = batch(capsys, "-o", "out.csv", "--dry-run", "--format", "json").json
    assert (dry["items"], dry["calls"]["least"]) == (4, 4)
    assert not server.requests
    assert not Path("out.csv").exists()
    done = batch(capsys, "-o", "out.csv")
    assert (done.code, "4 rows: 4 answered" in done.out) == (0, True), done.err
    rows = table("out.csv")
    assert list(rows[0]) == [
        *("id", "text", "kind", "urgent", "amount", "reply", "near"),
        *("category", "answer.urgent", "answer.amount", "answer.reply", "status", "cost_usd", "reason"),
    ]
    assert [(row["id"], row["text"], row["category"], row["answer.amount"], row["status"]) for row in rows] == [
        (f"m{number}", mail[0], category, mail[3], "answered")
        for number, (mail, category) in enumerate(zip(MAILS, ("billing", "sales", "technical", "sales"), strict=True))
    ]
    [listed] = in_process(capsys, "runs", "--kind", "batch", "--format", "json").json
    assert (listed["rows"]["answered"], listed["output"]) == (4, str(Path("out.csv").absolute()))
    assert in_process(capsys, "evaluations", "--format", "json").json == []
    shown = in_process(capsys, "show", listed["batch"])
    assert (shown.code, "4 rows: 4 answered" in shown.out) == (0, True)

    graded = in_process(capsys, "evaluate", *GIVEN, *FIELDS, "--format", "json").json
    assert graded["fields"]["category"]["score"] == 0.75
    assert all(row["inputs"] for row in graded["rows"])  # of the batch's runs
    assert len(server.requests) == 4


def test_one_that_stopped_is_continued_and_pays_nothing_twice(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = lambda request: Status(401) if "Screen" in str(request.body) else answer(request)
    stopped = batch(capsys, "-o", "out.jsonl", "--concurrency", "1")
    assert stopped.code == 1
    lines = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 4
    before = [line["id"] for line in lines if line["status"] == "answered"]
    assert {line["status"] for line in lines} - {"answered"} <= {"unanswered", "not asked"}
    assert [line["category"] for line in lines if line["id"] == "m2"] == [None]
    [listed] = in_process(capsys, "runs", "--kind", "batch", "--format", "json").json

    server.answer = answer
    server.requests.clear()
    done = in_process(capsys, "resume", listed["batch"])
    assert done.code == 0, done.err
    assert len(server.requests) == 4 - len(before)
    lines = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert [(line["id"], line["status"], line["answer.urgent"]) for line in lines] == [
        (f"m{number}", "answered", number < 3) for number in range(4)
    ]


def test_a_row_that_fails_says_why(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = lambda request: Reply("no JSON") if "Screen" in str(request.body) else answer(request)
    done = batch(capsys, "-o", "out.csv")
    assert (done.code, "3 answered, 1 failed" in done.out) == (0, True), done.out
    [failed] = [row for row in table("out.csv") if row["status"] == "failed"]
    assert (failed["id"], failed["category"], bool(failed["reason"])) == ("m2", "", True)


def test_several_outputs_are_columns_by_their_ids(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.server.test_scored_fields import FLOW

    kind = "  SORT --> RETURN\n  SORT -->|category:result| KIND([Kind]):::Interface"
    write("flow.mmd", FLOW.replace("  SORT --> RETURN", kind))
    batch(capsys, "-o", "out.csv", "--items", "m0")
    [row] = table("out.csv")
    assert (row["category"], row["KIND"]) == ("billing", "billing")


def test_columns_of_the_data_that_are_called_like_those_of_a_batch_stay(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.server.test_scored_fields import FLOW

    write("flow.mmd", FLOW.replace("amount", "reason"))
    server.answer = lambda _: Reply('{"category": "sales", "urgent": false, "reason": 3, "reply": "Hello."}')
    rows = [
        {"id": "a", "text": "One", "status": "open", "answer.reason": "old"},
        {"id": "b", "text": "Two", "batch.status": "mine", "cost_usd": 7},
    ]
    write("mails.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    done = in_process(capsys, "batch", "flow.mmd", "--dataset", "mails.jsonl", "--map", "problem=text", "-o", "out.csv")
    assert done.code == 0, done.err
    assert list(table("out.csv")[0]) == [
        *("id", "text", "status", "answer.reason", "batch.status", "cost_usd"),
        *("category", "urgent", "answer.answer.reason", "reply", "batch.batch.status", "batch.cost_usd", "reason"),
    ]
    assert [
        (row["status"], row["batch.status"], row["answer.answer.reason"], row["batch.batch.status"])
        for row in table("out.csv")
    ] == [("open", "", "3", "answered"), ("", "mine", "3", "answered")]


@pytest.mark.parametrize(
    ("out", "said"),
    [("out.txt", "neither CSV nor JSON Lines"), ("mails.csv", "is there already"), ("no/out.csv", "is not a folder")],
)
def test_where_it_can_not_be_written_is_said_first(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], out: str, said: str
) -> None:
    done = batch(capsys, "-o", out)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not server.requests
