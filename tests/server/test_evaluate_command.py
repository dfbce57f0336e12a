"""Evaluations from the command line, in processes of their own, against an endpoint on loopback."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, only, serving
from tests.server.program import Outcome, in_process, merrow, write
from tests.server.searching import FLOW
from tests.sizes import sized

from merrow_optimizer.evaluation.data.names import data_file

KILLS = sized(8, 10)
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def answer(request: Received) -> Step:
    """The sum that is asked for; item 3 is answered wrongly."""
    text = request.body["messages"][-1]["content"]
    numbers = [int(word) for word in text.replace("?", " ").split() if word.isdigit()]
    if request.body["messages"][0]["content"].startswith("first"):
        return Reply(f"sum {numbers[0]} {numbers[1]}", delay=0.002)
    return Reply("7" if numbers[0] == 3 else str(sum(numbers)), delay=0.002)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        data(12)
        yield server


def data(count: int, name: str = "own.jsonl") -> None:
    rows = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": str(2 * n)} for n in range(count)]
    write(name, "".join(json.dumps(row) + "\n" for row in rows))


def evaluate(*more: str, env: dict[str, str] | None = None) -> Outcome:
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
    return merrow("evaluate", "flow.mmd", *own, *more, env=env)


def table(evaluation: str) -> list[tuple[Any, ...]]:
    """What an evaluation comes to, without times and costs."""
    rows = merrow("show", evaluation, "--format", "json").json["rows"]
    return [(row["item"], row["repeat"], row["status"], row["value"], row["read"], row["reason"]) for row in rows]


def test_a_dry_run_says_what_it_may_cost_and_asks_nothing(server: OpenAIServer) -> None:
    assert "12 items of own.jsonl (part all), each once: 24 calls" in evaluate("--dry-run").out
    assert "12 items of own.jsonl (part all), each 2 times: 24 calls" in evaluate("--dry-run", "--repeat", "2").out
    assert evaluate("--dry-run", "--format", "json").json["calls"] == {"least": 24, "most": 24}
    assert not server.requests


@pytest.mark.slow
def test_the_table_and_the_score(server: OpenAIServer) -> None:
    done = evaluate()
    assert done.code == 0, done.err
    assert len(server.requests) == 24
    lines = done.out.splitlines()
    assert lines[0].split() == ["inputs", "item", "status", "answer", "expected", "reason", "cost", "seconds", "run"]
    assert re.split(r"  +", lines[1])[:5] == ["What is 3 plus 3?", "q3", "wrong", "7", "6"]
    assert "Score 0.917 [0.646, 0.996] on 12 items (numeric, 95 % interval)" in done.out
    assert "11 right, 1 wrong" in done.out
    assert "24 calls, at most about" in done.err
    [listed] = merrow("evaluations", "--format", "json").json
    assert (listed["status"], listed["score"], listed["answers"]["wrong"]) == ("finished", pytest.approx(11 / 12), 1)
    assert listed["evaluation"] in merrow("evaluations").out
    identity = listed["evaluation"]
    assert len(table(identity[:6])) == 12
    _, head, wrong, right, *_ = merrow("show", identity, env={"FORCE_COLOR": "1"}).out.splitlines()
    assert head.startswith("\x1b[1minputs")
    assert ("\x1b[31mwrong" in wrong, "\x1b[32mright" in right) == (True, True)
    item = merrow("show", identity, "--item", "q3")
    assert "q3: wrong 0" in item.out
    assert "input PROBLEM\nWhat is 3 plus 3?\n" in item.out
    assert [one["inputs"] for one in merrow("show", identity, "--item", "q3", "--format", "json").json] == [
        {"PROBLEM": "What is 3 plus 3?"}
    ]
    run = merrow("show", f"{identity}/q3")
    assert run.code == 0, run.err
    assert "sum 3 3" in run.out
    assert merrow("runs").out == ""


def test_each_answer_to_an_item_is_shown(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric", "--limit", "2")
    assert in_process(capsys, "evaluate", "flow.mmd", *own, "--repeat", "2").code == 0
    assert in_process(capsys, "evaluate", "flow.mmd", *own).code == 0
    once, twice = in_process(capsys, "evaluations", "--format", "json").json
    names = [
        re.split(r"  +", line)[1] for line in in_process(capsys, "show", twice["evaluation"]).out.splitlines()[2:6]
    ]
    first, second = names[0].removesuffix(" (1)"), names[2].removesuffix(" (1)")
    assert names == [f"{first} (1)", f"{first} (2)", f"{second} (1)", f"{second} (2)"]
    shown = in_process(capsys, "show", once["evaluation"]).out.splitlines()[2:4]
    assert [re.split(r"  +", line)[1] for line in shown] == [first, second]

    told = in_process(capsys, "show", twice["evaluation"], "--item", first).out
    one, other = told.split("\n\n" + first)
    assert one.startswith(f"{first}, answer 1: right 1\n")
    assert other.startswith(", answer 2: right 1\n")
    run = twice["evaluation"]
    assert one.endswith(f"See its nodes with: merrow show {run}/{first}")
    assert other.endswith(f"See its nodes with: merrow show {run}/{first}/1\n")
    assert in_process(capsys, "show", once["evaluation"], "--item", first).out.startswith(f"{first}: right 1\n")


@pytest.mark.slow
def test_what_is_known_is_not_paid_again(server: OpenAIServer) -> None:
    evaluate()
    write("flow.mmd", FLOW.replace(" A", " FIRST").replace("flowchart TD", "flowchart TD\n    %% a comment"))
    again = evaluate("--format", "json")
    assert again.code == 0, again.err
    assert again.json["usage"]["calls"] == 0
    other = evaluate("--metric", "contains", "--format", "json")
    assert (other.json["metric"], other.json["score"]) == ("contains", pytest.approx(11 / 12))
    assert len(server.requests) == 24
    assert evaluate("--fresh", "--format", "json").json["usage"]["calls"] == 24


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "code", "sentence"),
    [
        (("--fail-under", "0.9"), 0, ""),
        (("--fail-under", "0.95"), 1, "The score 0.917 is under 0.95."),
        (("--fail-under-lower", "0.6"), 0, ""),
        (("--fail-under-lower", "0.7"), 1, "The lower end of the interval, 0.646, is under 0.7."),
        (("--allow-errors", "0"), 0, ""),
    ],
)
def test_gates(
    server: OpenAIServer,
    gate: tuple[str, str],
    code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
    done = in_process(capsys, "evaluate", "flow.mmd", *own, *gate)
    assert (done.code, sentence in done.err) == (code, True), done.err
    assert ("Gate failed" in done.err) is (code == 1)


@pytest.mark.slow
def test_two_compared_and_gates_of_the_difference(server: OpenAIServer) -> None:
    first = evaluate("--format", "json").json["evaluation"]
    write("other.mmd", FLOW.replace("second", "other"))
    server.answer = lambda request: Reply("-1") if "other" in request.prompt else answer(request)
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
    worse = merrow("evaluate", "other.mmd", *own, "--baseline", first, "--fail-if-worse", "--max-drop", "0.5")
    assert worse.code == 1
    assert "The score dropped by 0.917, more than 0.5." in worse.err
    assert "It is worse than the baseline by 0.917" in worse.err
    calls = len(server.requests)
    dry = merrow(
        "evaluate", "--compare", "flow.mmd", "other.mmd", *own, "--fresh", "--dry-run", "--format", "json"
    ).json
    assert [(cell["workflow"], cell["calls"]["most"]) for cell in dry["cells"]] == [("flow.mmd", 24), ("other.mmd", 24)]
    compared = merrow("evaluate", "--compare", "flow.mmd", "other.mmd", *own)
    assert compared.code == 0, compared.err
    assert "worse on 11: q0, q1, q10, q11, q2, q4" in compared.out
    assert "p < 0.001 (McNemar)" in compared.out
    newest = merrow("evaluations", "--format", "json").json
    by_id = merrow("evaluate", "--compare", newest[1]["evaluation"], newest[0]["evaluation"], "--format", "json").json
    assert (by_id["difference"], by_id["test"], len(by_id["worse"])) == (pytest.approx(-11 / 12), "McNemar", 11)
    assert len(server.requests) == calls
    # An item of the same id that asks something else now is another one.
    data(12)
    rows = Path("own.jsonl").read_text(encoding="utf-8").replace("What is 5 plus 5?", "What is 4 plus 4?")
    write("own.jsonl", rows)
    changed = ("--metric", "contains", "--baseline", first, "--max-drop", "0", "--format", "json")
    other = merrow("evaluate", "flow.mmd", *own[:4], *changed)
    assert (other.json["baseline"]["items"], other.json["baseline"]["left_out"]) == (11, 1)
    assert f"Evaluation {first} was scored by numeric, and" in other.err


@pytest.mark.slow
def test_a_set_that_comes_with_merrow_is_named(server: OpenAIServer) -> None:
    file = data_file("arithmetic")
    rows = {row["problem"]: row["answer"] for row in map(json.loads, file.read_text().splitlines())}
    assert len(rows) == 30
    flow = FLOW.replace('    B@{op: Custom, prompt: "second"}\n', "").replace(" --> B", "")
    write("one.mmd", flow)
    server.answer = lambda request: Reply(next(gold for problem, gold in rows.items() if problem in request.prompt))
    done = merrow("evaluate", "one.mmd", "--dataset", "arithmetic", "--budget-tokens", "300", "--concurrency", "1")
    assert done.code == 1
    [one] = merrow("evaluations", "--format", "json").json
    assert one["dataset"] == "arithmetic"
    again = merrow("resume", one["evaluation"], "--budget-tokens", "90000")
    assert "Score 1.000" in again.out
    assert "on 30 items (numeric" in again.out
    write("arithmetic", '{"problem": "?", "answer": "1"}')
    assert "30" not in merrow("evaluate", "one.mmd", "--dataset", "arithmetic", "--gold", "answer", "--dry-run").out


def test_errors_of_the_endpoint_are_left_out_and_asked_again(server: OpenAIServer) -> None:
    def limited(request: Received) -> Step:
        return Status(400, "scripted refusal") if "4 plus 4" in request.prompt else answer(request)

    server.answer = limited
    done = evaluate("--fail-under", "0.5", "--format", "json")
    assert done.code == 1
    assert done.json["answers"]["unanswered"] == 1
    assert done.json["counted"] == 11
    assert "1 answer is unanswered or invalid; --allow-errors allows 0." in done.err
    assert evaluate("--fail-under", "0.5", "--allow-errors", "1").code == 0
    server.answer = answer
    calls = len(server.requests)
    resumed = merrow("resume", done.json["evaluation"])
    assert resumed.code == 0, resumed.err
    assert "11 right, 1 wrong" in resumed.out
    assert len(server.requests) == calls + 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("evaluate", "flow.mmd"), "merrow evaluate FILE --dataset F"),
        (("evaluate", "flow.mmd", "--dataset", "absent.jsonl"), "absent.jsonl"),
        (("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "anser"), "answer"),
        (("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeri"), "numeric"),
        (("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--map", "x"), "--map"),
        (("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--max-drop", ".1"), "--baseline"),
        (("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--budget-tokens", "1"), "one item"),
        (("evaluate", "--compare", "nothing", "nowhere"), "There is no evaluation 'nothing'"),
        (("evaluate", "--compare", "flow.mmd", "nothing", "--dataset", "own.jsonl", "--gold", "answer"), "'nothing'"),
        (("evaluate", "--compare", "flow.mmd", "flow.mmd", "--fail-under", "1"), "--compare has no gates"),
        (("evaluate", "--compare", "flow.mmd", "flow.mmd", "--format", "csv"), "printed as text or json"),
        (
            ("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--metric", "f1", "--metric-option", "sep=1"),
            "no option `sep`",
        ),
        (("show", "nothing"), "There is no run 'nothing'"),
        (("resume", "nothing"), "There is no run 'nothing'"),
    ],
)
def test_mistakes_before_the_first_call(
    server: OpenAIServer, arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = in_process(capsys, *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert not server.requests


@pytest.mark.slow
def test_data_that_changed_are_not_gone_on_with(server: OpenAIServer) -> None:
    done = evaluate("--budget-tokens", "60", "--concurrency", "1", "--format", "json")
    assert done.code == 1
    assert "60 tokens is used up" in done.err
    identity = done.json["evaluation"]
    data(13)
    changed = merrow("resume", identity)
    assert changed.code == 2
    assert "are not the same any more" in changed.err
    data(12)
    elsewhere = merrow("resume", identity, env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert elsewhere.code == 2
    assert "would answer now" in elsewhere.err
    resumed = merrow("resume", identity, "--budget-tokens", "100000")
    assert resumed.code == 0, resumed.err
    assert len(server.requests) == 24


def test_texts_of_data_and_answers_drive_no_terminal(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("\x1b[31mred\x07")
    row = {"id": "evil \x1b]0;t\x07", "problem": "p", "answer": "\x1b[2Jgold"}
    write("own.jsonl", json.dumps(row) + "\n")
    done = merrow("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "exact")
    assert done.code == 0, done.err
    assert "wrong" in done.out
    assert not set(done.out) & {"\x1b", "\x07"}
    [one] = merrow("evaluations", "--format", "json").json
    shown = merrow("show", one["evaluation"], "--item", row["id"])
    assert "red" in shown.out
    assert not set(shown.out) & {"\x1b", "\x07"}


def test_a_judge_is_asked_and_counted_once(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    def judged(request: Received) -> Step:
        if request.body["model"] != "judge-1":
            return answer(request)
        if "3 plus 3" in request.prompt:
            return Status(400, "no verdict today")
        return Reply(json.dumps({"reason": "well done", "score": 8}))

    server.answer = judged
    asked = ("--dataset", "own.jsonl", "--metric", "judge", "--judge-model", "judge-1")
    command = ("evaluate", "flow.mmd", *asked, "--metric-option", "rubric=Is it the sum?", "--format", "json")
    done = in_process(capsys, *command)
    assert done.code == 0, done.err
    assert (done.json["score"], done.json["usage"]["calls"]) == (pytest.approx(0.8), 24 + 11)
    assert done.json["answers"]["unanswered"] == 1
    server.answer = lambda _: Reply(json.dumps({"reason": "fine", "score": 2}))
    calls = len(server.requests)
    resumed = in_process(capsys, "resume", done.json["evaluation"])
    assert resumed.code == 0, resumed.err
    assert len(server.requests) == calls + 1
    assert in_process(capsys, *command).json["score"] == pytest.approx((11 * 0.8 + 0.2) / 12)
    assert len(server.requests) == calls + 1


def test_each_format_is_read_by_others(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    def odd(request: Received) -> Step:
        return Status(400, "refused") if "4 plus 4" in request.prompt else answer(request)

    server.answer = odd
    rows = [json.loads(line) for line in Path("own.jsonl").read_text().splitlines()]
    rows[3]["id"] = 'q"3",<&>\n\x1b[2J'
    write("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric", "--fail-under", "1")
    done = {
        name: in_process(capsys, "evaluate", "flow.mmd", *own, "--format", name) for name in ("csv", "junit", "github")
    }
    assert {one.code for one in done.values()} == {1}
    table = list(csv.DictReader(io.StringIO(done["csv"].out)))
    assert [(row["item"], row["status"], row["read"]) for row in table[:2]] == [
        (rows[3]["id"], "wrong", "7"),
        ("q4", "unanswered", ""),
    ]
    assert len(table) == 12
    root = ElementTree.fromstring(done["junit"].out)  # noqa: S314 (our own)
    suite = root.findall("testsuite")[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["12", "1", "0", "1"]
    cases = suite.findall("testcase")
    assert (len(cases), cases[0].find("failure") is not None, cases[1].find("skipped") is not None) == (12, True, True)
    assert "answer: 7\nexpected: 6" in (cases[0].findtext("failure") or "")
    notice, *others = done["github"].out.splitlines()
    assert notice.startswith("::notice file=flow.mmd,title=merrow evaluate::Score 0.909 [")
    assert others[0].startswith("::error file=flow.mmd,")
    assert [line.partition(" ")[0] for line in others[2:]] == ["::warning"] * 2
    assert len(others) == 4


def begun(*more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "merrow_server", "evaluate", "flow.mmd", "--dataset", "own.jsonl"]
    return subprocess.Popen(
        [*command, "--gold", "answer", "--metric", "numeric", *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def until(server: OpenAIServer, calls: int) -> None:
    end = time.monotonic() + PATIENCE
    while len(server.requests) < calls:
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.slow
@posix
def test_ctrl_c_keeps_what_is_finished(server: OpenAIServer) -> None:
    data(60)
    server.answer = only(30, answer)
    process = begun("--concurrency", "2")
    until(server, 31)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    [one] = merrow("evaluations", "--format", "json").json
    assert one["status"] == "cancelled"
    assert f"merrow resume {one['evaluation']}" in err.decode()
    server.answer = answer
    resumed = merrow("resume", one["evaluation"])
    assert resumed.code == 0, resumed.err
    asked = Counter(request.prompt for request in server.requests)
    assert len(asked) == 120
    assert sum(asked.values()) <= 122  # those in flight were cancelled


@posix
@pytest.mark.thinned(32, "killed anywhere")
def test_killed_at_random_points_it_comes_to_the_same_and_pays_no_finished_call_again(server: OpenAIServer) -> None:
    """What is asked for again: calls in flight, and answers that came in the
    last five milliseconds, which are committed together.
    """
    count, at_once = 40, 3
    data(count)
    chance = random.Random(7)
    kills = 0
    identity: str | None = None
    while kills < KILLS:
        before = len(server.requests)
        if identity is None:
            process = begun("--concurrency", str(at_once))
        else:
            command = [sys.executable, "-m", "merrow_server", "resume", identity]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        wanted = before + chance.randint(1, 2 * count // KILLS)
        while len(server.requests) < wanted and process.poll() is None and time.monotonic() < end:
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.005))
        process.kill()
        process.wait()
        kills += 1
        if process.stderr is not None:
            process.stderr.close()
        if identity is None:
            [one] = merrow("evaluations", "--format", "json").json
            identity = one["evaluation"]
            assert one["status"] in ("interrupted", "finished")
    assert identity is not None
    last = merrow("resume", identity)
    assert last.code == 0, last.err
    asked = Counter(request.prompt for request in server.requests)
    assert len(asked) == 2 * count
    # While three items are in flight, two at most are between their answer and the next question.
    assert sum(asked.values()) - len(asked) <= kills * (2 * at_once - 1)
    whole = evaluate("--fresh", "--format", "json").json
    assert table(identity) == table(whole["evaluation"])
