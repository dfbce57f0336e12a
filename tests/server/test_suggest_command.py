"""``merrow suggest`` in processes of its own, against a scripted model on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optimizer.suggestions.scripted import FLOW, Model, candidate, is_first, is_judging, prompt, said, setting
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import GOOD, ONE_VOICE, merrow, write
from tests.server.terminal import terminals

IMPOSSIBLE = candidate({"apply": "nonsense"}, title="Impossible")
FIRST = said(
    candidate(prompt("Check each step."), title="Check the steps", reason="Slips are found."),
    candidate(setting("samples", 3), title="Ask thrice"),
    IMPOSSIBLE,
)
DATA = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": f"{2 * n} apples"} for n in range(1, 41)]

SHOWN = """\
1  Ask thrice  (45.0 of 50)
   It helps.
   Samples 3 at A. A run: 4 to 5 calls, cost unknown; now 2 to 3 calls, cost unknown.
   The judge: Because.
--- a/flow.mmd
+++ b/flow.mmd
@@ -12,7 +12,7 @@
 flowchart TD
     %% the two voices
     PROBLEM([Problem]):::Interface
-    A["Custom<br/>(role: careful)"]:::CustomOp
+    A["Custom<br/>(role: careful)"]:::CustomOp@{ samples: 3 }
     B["Custom<br/>(role: quick)"]:::CustomOp
     VOTE["ScEnsemble<br/>"]:::ScEnsembleOp
     RETURN([Answer]):::Interface

2  Check the steps  (20.0 of 50)
   Slips are found.
   New prompt of A. A run: 2 to 3 calls, cost unknown; now 2 to 3 calls, cost unknown.
   The judge: Because.
--- a/flow.mmd
+++ b/flow.mmd
@@ -5,7 +5,7 @@
   budget: {tokens: 20000}
   prompts:
     careful: |
-      Solve the problem step by step.
+      Check each step.
     quick: |
       Answer in one sentence.
 ---

"""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """A model for suggestions; a workflow that is run gets what it ``says``."""
    answers = Model(FIRST, [said(IMPOSSIBLE)], score=lambda one: 9 if one["title"] == "Ask thrice" else 4, says="wrong")

    def answer(request: Received) -> Step:
        known = is_judging(request) or '"candidates"' in request.body["messages"][-1]["content"]
        return answers(request) if known else Reply(answers.says)

    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        answers.server = server  # type: ignore[attr-defined]
        write("flow.mmd", FLOW)
        yield answers


def config(text: str) -> None:
    Path("config").mkdir(exist_ok=True)
    Path("config/config.toml").write_text(text, "utf-8")


def prices(model: Model, dollars: float) -> str:
    server: OpenAIServer = model.server  # type: ignore[attr-defined]
    return f'[prices."{server.origin}"."*"]\ninput = {dollars:f}\noutput = {dollars:f}\n'


def is_forecast(line: str, origin: str, money: str) -> bool:
    """Whether it says what the suggestions of these tests may cost; their tokens depend on each word of the instructions."""
    told = rf"3 to 19 calls to test-model at {re.escape(origin)}, at most about 1[45]\d,\d{{3}} tokens, {re.escape(money)}\."
    return re.fullmatch(told, line) is not None


@pytest.mark.slow
def test_suggestions_are_shown_as_differences_and_one_is_written(model: Model) -> None:
    done = merrow("suggest", "flow.mmd", "--yes")
    assert done.code == 0, done.err
    assert done.out == SHOWN
    origin = model.server.origin  # type: ignore[attr-defined]
    first, *lines, last = done.err.splitlines()
    assert is_forecast(first, origin, "the price is not known")
    assert lines == [
        "Refused: Impossible: The menu has no mutation nonsense.",
        "Valid at the first try: 2 of 3; after repair: 2 of 3 (moves 2 and 2 of 3).",
        "5 calls, cost unknown.",
        "Write one with: merrow suggest flow.mmd --apply K (and the same options).",
    ]
    assert re.fullmatch(r"Suggestion (\w+): see it again with: merrow show \1", last)
    assert Path("flow.mmd").read_text() == FLOW
    again = merrow("suggest", "flow.mmd")
    assert (again.code, again.out) == (0, SHOWN)
    assert again.err.splitlines() == [
        "All answers are known already; no call is made.",
        "Refused: Impossible: The menu has no mutation nonsense.",
        "Valid at the first try: 2 of 3; after repair: 2 of 3 (moves 2 and 2 of 3).",
        "Write one with: merrow suggest flow.mmd --apply K (and the same options).",
    ]

    count = len(model.requests)
    done = merrow("suggest", "flow.mmd", "--apply", "2")
    assert (done.code, done.out) == (0, "")
    assert done.err == "All answers are known already; no call is made.\nflow.mmd is written.\n"
    assert len(model.requests) == count
    assert Path("flow.mmd").read_text() == FLOW.replace("Solve the problem step by step.", "Check each step.")


@pytest.mark.slow
def test_json_has_all_of_it(model: Model) -> None:
    done = merrow(
        "suggest", "flow.mmd", "--yes", "--format", "json", "--optimizer-model", "big", "--judge-model", "fair"
    )
    told = done.json
    assert (told["optimizer_model"], told["judge_model"]) == ("big", "fair")
    assert {one.body["model"] for one in model.asked} == {"big"}
    assert {one.body["model"] for one in model.judged} == {"fair"}
    first = told["suggestions"][0]
    assert (first["title"], first["form"], first["scores"]["total"], first["scores"]["unsure"]) == (
        "Ask thrice",
        "moves",
        45.0,
        False,
    )
    assert first["text"] == FLOW.replace('(role: careful)"]:::CustomOp', '(role: careful)"]:::CustomOp@{ samples: 3 }')
    assert first["run"]["calls"]["most"] == told["run"]["calls"]["most"] + 2
    assert told["refused"][0]["stage"] == "read"
    assert (told["valid"]["share_first"], told["valid"]["forms"]["moves"]["never"]) == (pytest.approx(2 / 3), 1)
    assert told["valid"]["forms"]["graph"]["share_first"] is None
    assert told["usage"]["calls"] == 1 + 2 + 2
    assert (done.code, len(done.err.splitlines())) == (0, 1)
    written = merrow(
        "suggest", "flow.mmd", "--format", "json", "--optimizer-model", "big", "--judge-model", "fair", "--apply=2"
    )
    assert written.err == "All answers are known already; no call is made.\nflow.mmd is written.\n"
    assert written.json["suggestions"] == told["suggestions"]


def test_the_models_are_those_of_the_users_settings(model: Model) -> None:
    config('[models]\noptimizer = "big"\njudge = "fair"\n')
    told = merrow("suggest", "flow.mmd", "--yes", "--format", "json").json
    assert (told["optimizer_model"], told["judge_model"]) == ("big", "fair")
    config('[models]\nrunner = "big"\n')
    done = merrow("suggest", "flow.mmd")
    assert done.code == 2
    assert "`[models]`" in done.err
    assert model.requests


@pytest.mark.slow
def test_what_may_cost_much_is_asked_for_first(model: Model) -> None:
    done = merrow("suggest", "flow.mmd")
    assert (done.code, done.out, model.requests) == (2, "", [])
    assert done.err.splitlines()[0].endswith(", the price is not known.")
    assert done.err.splitlines()[1:] == [
        "merrow: This may cost more than $0.05, which your settings allow unasked (`suggest_ask_above_usd`): agree with --yes,"
        " or bound it with --budget-usd."
    ]
    config(prices(model, 0.01))
    told = merrow("suggest", "flow.mmd", "--dry-run")
    origin = model.server.origin  # type: ignore[attr-defined]
    assert (told.code, told.err) == (0, "")
    first, last = told.out.splitlines()
    assert is_forecast(first, origin, "at most about $0.0015")
    assert last == "No call was made."
    dry = merrow("suggest", "flow.mmd", "--dry-run", "--format", "json").json
    assert (dry["calls"]["least"], dry["calls"]["most"], model.requests) == (3, 19, [])
    assert 0 < dry["cost_usd"]["least"] < dry["cost_usd"]["most"] < 0.05
    assert merrow("suggest", "flow.mmd").code == 0
    config(f"suggest_ask_above_usd = 0\n{prices(model, 0.01)}")
    assert merrow("suggest", "flow.mmd", "--fresh").code == 2
    config(prices(model, 1_000_000))
    count = len(model.requests)
    done = merrow("suggest", "flow.mmd", "--fresh", "--budget-usd", "0.04")
    assert done.code == 2
    *_, why = done.err.splitlines()
    assert why.startswith("merrow: A budget of 0.04 US dollars is too small: the first question alone may use ")
    assert "0 calls" not in done.err
    assert len(model.requests) == count


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["usd", "tokens"])
def test_a_budget_is_kept_and_what_passed_within_it_is_shown(model: Model, unit: str) -> None:
    config(prices(model, 1))
    asked = ["suggest", "flow.mmd", "--fresh", "--yes", f"--budget-{unit}"]
    refused = merrow(*asked, "0.001" if unit == "usd" else "10")
    assert (refused.code, model.requests) == (2, [])
    least = re.search(r"may use ([\d.,]+) \(--budget", refused.err)
    assert least, refused.err
    limit = least[1].replace(",", "")
    done = merrow(*asked, limit, "--format", "json")
    assert done.code == 0, done.err
    usage = done.json["usage"]
    assert (usage["cost_usd"] if unit == "usd" else usage["prompt_tokens"] + usage["completion_tokens"]) <= float(limit)
    assert len(done.json["suggestions"]) == 2
    assert "less than another call may use: raise it with --budget-" in " ".join(done.json["notices"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_a_person_is_asked_for_the_cost_on_a_terminal_alone(model: Model) -> None:
    config(f"suggest_ask_above_usd = 2.5\n{prices(model, 100_000)}")
    with terminals() as terminal:
        for word in ("n", ""):
            shown = terminal("suggest", "flow.mmd", typed=f"{word}\n")
            assert re.sub(r"\x1b\[\d+m", "", shown).splitlines()[1:] == [
                "This may cost more than $2.5. Go on? [y/N]: merrow: Nothing was asked."
            ]
        shown = terminal("suggest", "flow.mmd", stdin="y\n")
        assert "This may cost more than $2.5, which your settings allow unasked" in shown
        assert model.requests == []
        shown = terminal("suggest", "flow.mmd", typed="y\n")
        assert "This may cost more than $2.5. Go on? [y/N]: " in shown
        assert "1  Ask thrice  (45.0 of 50)" in shown
        assert "\x1b[1m1  Ask thrice  (45.0 of 50)" in shown or "NO_COLOR" in os.environ
    assert len(model.requests) == 5


def test_suggestions_without_a_judge_are_shown_as_they_came(model: Model) -> None:
    server: OpenAIServer = model.server  # type: ignore[attr-defined]
    before = server.answer
    server.answer = lambda request: Status(400) if is_judging(request) else before(request)
    write("merrow.toml", 'patterns = ["none"]\n')
    done = merrow("suggest", "flow.mmd", "--yes")
    assert done.code == 0, done.err
    assert [line for line in done.out.splitlines() if line[:1].isdigit()] == [
        "1  Check the steps  (not judged)",
        "2  Ask thrice  (not judged)",
    ]
    assert "The judge" not in done.out
    lines = done.err.splitlines()
    assert lines[0] == "merrow: There is no such file or folder of patterns. (none)"
    assert lines[2:4] == [
        "Refused: Impossible: The menu has no mutation nonsense.",
        "Valid at the first try: 2 of 3; after repair: 2 of 3 (moves 2 and 2 of 3).",
    ]
    assert lines[4].startswith("Note: The suggestions are not judged: ")
    assert lines[6] == "Write one with: merrow suggest flow.mmd --apply K (and the same options)."
    assert re.fullmatch(r"Suggestion (\w+): ask for what is missing with: merrow resume \1", lines[7])


def test_a_file_that_changed_meanwhile_is_not_written(model: Model) -> None:
    server: OpenAIServer = model.server  # type: ignore[attr-defined]
    before = server.answer

    def answer(request: Received) -> Step:
        write("flow.mmd", FLOW.replace("Two voices", "Two"))
        return before(request)

    server.answer = answer
    done = merrow("suggest", "flow.mmd", "--yes", "--apply", "1", "--format", "json")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == "merrow: flow.mmd changed meanwhile, so nothing was written; ask again."
    assert Path("flow.mmd").read_text() == FLOW.replace("Two voices", "Two")


@pytest.mark.slow
def test_what_cannot_be_suggested_for_says_why(model: Model) -> None:
    write("voice.mmd", ONE_VOICE)
    for arguments, says in (
        (["none.mmd"], "none.mmd"),
        (["voice.mmd"], "has an error"),
        (["flow.mmd", "--node", "NOBODY"], "flow.mmd has no node NOBODY."),
        (["flow.mmd", "--node", "PROBLEM"], "Node PROBLEM asks no model"),
        (["flow.mmd", "--base-url", "offline"], "Suggestions need a model"),
        (
            ["flow.mmd", "--dataset", "own.jsonl"],
            "was not evaluated on own.jsonl yet: merrow evaluate flow.mmd --dataset own.jsonl",
        ),
        (["flow.mmd", "--budget-usd", "1"], "The price of `test-model`"),
        (["flow.mmd", "--n", "0"], "0 is not in the range"),
    ):
        done = merrow("suggest", *arguments)
        assert done.code == 2, arguments
        assert says in done.err
        assert done.out == ""
        assert "Traceback" not in done.err
    assert model.requests == []


@pytest.mark.slow
def test_a_model_of_no_use_is_not_a_mistake_of_the_user(model: Model) -> None:
    """The exit code is that of a command that failed, not of one that was asked for wrongly, and what was paid is reported."""
    model.first, model.repairs = "I think you should try harder.", ["I think you should try harder."]
    done = merrow("suggest", "flow.mmd", "--yes")
    assert (done.code, done.out) == (1, "")
    assert "The model suggested nothing that can be read: The answer is not JSON." in done.err
    assert "3 calls" in done.err
    model.server.script(*[Status(401)] * 4)  # type: ignore[attr-defined]
    assert merrow("suggest", "flow.mmd", "--yes", "--fresh").code == 1


@pytest.mark.slow
def test_without_a_suggestion_it_exits_with_1(model: Model) -> None:
    model.first = said(candidate({"apply": "nonsense"}))
    done = merrow("suggest", "flow.mmd", "--yes")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[1:-1] == [
        "Refused: Impossible: The menu has no mutation nonsense.",
        "Valid at the first try: 0 of 1; after repair: 0 of 1 (moves 0 and 0 of 1).",
        f"{len(model.requests)} calls, cost unknown.",
    ]
    done = merrow("suggest", "flow.mmd", "--apply", "1")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "merrow: None passed, so number 1 can't be applied."
    model.first = FIRST
    done = merrow("suggest", "flow.mmd", "--yes", "--fresh", "--apply", "7")
    assert done.code == 1
    assert done.err.splitlines()[1] == "merrow: Suggestions that passed: 2, so number 7 can't be applied."
    assert Path("flow.mmd").read_text() == FLOW


@pytest.mark.slow
def test_the_model_sees_failures_of_the_part_that_may_be_shown(model: Model) -> None:
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA), "utf-8")
    evaluated = merrow("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "exact")
    assert evaluated.code == 0, evaluated.err
    model.first = said(
        candidate(prompt("Check each step."), title="Fine"),
        candidate(prompt("Say 22 apples, 24 apples or 26 apples."), title="Leak"),
    )
    model.repairs = [said(candidate(prompt("Say 22 apples, 24 apples or 26 apples."), title="Leak"))]
    done = merrow("suggest", "flow.mmd", "--yes", "--dataset", "own.jsonl", "--format", "json")
    assert done.code == 0, done.err
    (text,) = (one.body["messages"][1]["content"] for one in model.asked if is_first(one))
    shown = [row for row in DATA if json.dumps(row["answer"]) in text]
    validate = {one["item"] for one in _part("validate")}
    assert 0 < len(shown) <= 5
    assert {row["id"] for row in shown} <= validate
    assert '"its answer": "wrong"' in text
    assert [one["title"] for one in done.json["suggestions"]] == ["Fine"]
    assert [one["stage"] for one in done.json["refused"]] == ["data"]

    # A version of the workflow that was scored before is told with what became of the change.
    write("flow.mmd", FLOW.replace("one sentence", "one word").replace("step by step", "slowly"))
    model.says = next(str(row["answer"]) for row in DATA if row["id"] in validate)
    evaluate = ("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "exact")
    score = merrow(*evaluate, "--format", "json").json["score"]
    assert score > 0
    merrow("suggest", "flow.mmd", "--yes", "--dataset", "own.jsonl")
    assert (
        f'{{"change": "New prompt of A; new prompt of B", "score before": 0.0, "score after": {score}}}'
        in model.asked[-1].body["messages"][1]["content"]
    )


def _part(part: str) -> list[dict[str, str]]:
    done = merrow(
        "evaluate",
        "flow.mmd",
        "--dataset",
        "own.jsonl",
        "--gold",
        "answer",
        "--metric",
        "exact",
        "--part",
        part,
        "--format",
        "json",
    )
    rows: list[dict[str, str]] = done.json["rows"]
    return rows


def test_a_block_of_markdown_is_changed_in_its_place(model: Model) -> None:
    text = f"# Two\n\n```mermaid\n{GOOD}```\n\n```mermaid\n{FLOW}```\n"
    write("flow.md", text)
    done = merrow("suggest", "flow.md#2", "--yes", "--apply", "2")
    assert done.code == 0, done.err
    assert Path("flow.md").read_text() == text.replace("Solve the problem step by step.", "Check each step.")
    assert model.requests


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_it_and_keeps_what_came(model: Model) -> None:
    server: OpenAIServer = model.server  # type: ignore[attr-defined]
    before = server.answer
    server.answer = lambda request: Hang() if is_judging(request) else before(request)
    command = [sys.executable, "-m", "merrow_server", "suggest", "flow.mmd", "--yes"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ.copy()) as running:
        deadline = time.monotonic() + PATIENCE
        while not any(map(is_judging, server.requests)) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, errors.decode()
    assert b"Traceback" not in errors
    assert f"\n{len(server.requests)} calls, ".encode() in errors, "the judge's calls are counted, too"
    assert b"Stopped: answers that came are kept and not paid again." in errors
    server.answer = before
    count = len(server.requests)
    assert merrow("suggest", "flow.mmd", "--yes").code == 0
    assert len(server.requests) == count + 2, "only the judge is asked again"
    assert merrow("costs", "--by", "model").out.count("test-model") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_ctrl_c_at_the_question_of_the_cost_ends_it(model: Model) -> None:
    terminal, other = os.openpty()
    command = [sys.executable, "-m", "merrow_server", "suggest", "flow.mmd"]
    with subprocess.Popen(command, stdin=other, stderr=other, stdout=other, env=os.environ.copy()) as running:
        os.close(other)
        shown = b""
        while b"Go on? [y/N]:" not in shown:
            shown += os.read(terminal, 4096)
        # One that comes just before Python begins to read is seen when the next one comes.
        deadline = time.monotonic() + PATIENCE
        while running.poll() is None and time.monotonic() < deadline:
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(timeout=10)
        running.kill()
        assert running.wait() == 130
    with contextlib.suppress(OSError):  # The other end is closed.
        shown += os.read(terminal, 65536)
    os.close(terminal)
    assert b"Traceback" not in shown
    assert not model.requests
