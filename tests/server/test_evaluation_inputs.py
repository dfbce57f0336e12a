"""What was asked is in every report of an evaluation; CSV computes nothing in a spreadsheet, and is read back as it was."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import in_process, write
from tests.server.test_evaluation_formats import FLOW

from merrow_optimizer.evaluation.data.csv_marks import marked, unmarked

Capture = pytest.CaptureFixture[str]
LONG = "Dear team,\nwhere is my lamp? " + "It is blue. " * 900
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", " =1+1", "=cmd|' /C calc'!A0", "＝1+1")
OWN = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "exact")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    def answer(request: Received) -> Step:
        text = request.body["messages"][-1]["content"]
        return Reply(next((one for one in FORMULAS if one in text), "blue"))

    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        yield server


def evaluated(capsys: Capture, problems: list[str]) -> str:
    """Evaluate these problems, of which none has the right answer; the evaluation."""
    rows = [{"id": f"q{n}", "problem": problem, "answer": "red"} for n, problem in enumerate(problems)]
    write("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN)
    assert done.code == 0, done.err
    assert "Dear team, where is my lamp? It is bl..." in done.out or LONG not in problems
    return str(in_process(capsys, "evaluations", "--format", "json").json[0]["evaluation"])


def test_each_report_says_what_was_asked(server: OpenAIServer, capsys: Capture) -> None:
    one = evaluated(capsys, ["Which colour?", LONG])

    def shown(*more: str) -> str:
        return in_process(capsys, "show", one, *more).out

    head, *lines = shown().splitlines()[1:4]
    assert head.startswith("inputs ")
    assert {line.partition("  wrong")[0].rstrip() for line in lines} == {
        f"Which colour?{' ' * 29}q0",
        "Dear team, where is my lamp? It is bl...  q1",
    }
    assert f"input PROBLEM\n{LONG}" in shown("--item", "q1")
    for rows in (json.loads(shown("--format", "json"))["rows"], json.loads(shown("--item", "q1", "--format", "json"))):
        [row] = (one for one in rows if one["item"] == "q1")
        assert next(iter(row.items())) == ("inputs", {"PROBLEM": LONG})
    table = list(csv.DictReader(io.StringIO(shown("--format", "csv"), newline="")))
    assert {row["item"]: row["inputs"] for row in table} == {"q0": "Which colour?", "q1": LONG}
    page = shown("--format", "html")
    assert f"<td><details><summary>Dear team,...</summary><pre>{LONG}</pre></details></td>" in page


def test_what_is_not_known_any_more_is_unknown(server: OpenAIServer, capsys: Capture) -> None:
    one = evaluated(capsys, ["Which colour?"])
    [journal] = Path("state").glob(f"evaluations/{one}*.sqlite")
    shutil.copy(journal, "kept")
    for spoil in (lambda: journal.write_bytes(b"no journal" * 1000), journal.unlink):
        spoil()
        for side in Path("state/evaluations").glob("*-wal"):
            side.unlink()
        assert in_process(capsys, "show", one).out.splitlines()[2].startswith("unknown  q0 ")
        assert "unknown" in in_process(capsys, "show", one, "--item", "q0").out
        assert [row["inputs"] for row in in_process(capsys, "show", one, "--format", "json").json["rows"]] == [None]
        for form in ("csv", "html"):
            assert "unknown" in in_process(capsys, "show", one, "--format", form).out


def test_a_spreadsheet_computes_nothing_and_the_same_is_read_back(server: OpenAIServer, capsys: Capture) -> None:
    one = evaluated(capsys, [f"Say {formula}" if n % 2 else formula for n, formula in enumerate(FORMULAS)])
    text = in_process(capsys, "show", one, "--format", "csv").out
    _, *rows = csv.reader(io.StringIO(text, newline=""))
    assert len(rows) == len(FORMULAS)
    assert {cell[:1] for row in rows for cell in row} & set("=+-@＝\t\r ") == set()
    write("again.csv", text)
    again = (
        "--dataset",
        "again.csv",
        "--map",
        "problem=inputs",
        "--map",
        "id=item",
        "--gold",
        "read",
        "--metric",
        "exact",
    )
    done = in_process(capsys, "evaluate", "flow.mmd", *again, "--format", "json")
    assert done.code == 0, done.err
    # Read back, a question is the one that was asked before, so that its answer is known and not paid again.
    assert (done.json["answers"]["right"], done.json["usage"]["calls"]) == (len(FORMULAS), 0)
    assert len(server.requests) == len(FORMULAS)


def test_an_apostrophe_in_data_of_others_is_one(server: OpenAIServer, capsys: Capture) -> None:
    write("own.csv", "id,problem,answer\nq,'=1+1,red\n")
    done = in_process(capsys, "evaluate", "flow.mmd", "--dataset", "own.csv", *OWN[2:], "--format", "json")
    assert [row["inputs"] for row in done.json["rows"]] == [{"PROBLEM": "'=1+1"}]


@given(some.text(some.sampled_from("'=+-@ \t\r\n5.ａ＝") | some.characters(), max_size=8))
@example("-5")
@example("+2.5")
@example("'-5")
@example("-5\n")
def test_a_marked_text_is_no_formula_and_comes_back(text: str) -> None:
    cell = marked(text)
    assert unmarked(cell) == text
    if cell[:1] in "+-" and cell:
        float(cell)
        assert cell == cell.strip()
    else:
        assert cell.lstrip()[:1] not in tuple("=+-@＝＋－＠")
