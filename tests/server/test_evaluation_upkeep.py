"""Evaluations gone on with elsewhere, cancelled, completed by a shell, deleted; what they may still cost."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, only, serving
from tests.server.program import Outcome, in_process, merrow, write
from tests.server.test_evaluate_command import FLOW, answer, begun, data, evaluate, server, until

from merrow_runtime.store.database import Store
from merrow_server.evaluations.known_items import KnownItems

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
__all__ = ["server"]
OWN = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")


@pytest.mark.slow
@pytest.mark.parametrize(("reuse", "calls"), [("any", 24), ("same", 24)])
def test_another_endpoint_goes_on_where_that_is_wanted(server: OpenAIServer, reuse: str, calls: int) -> None:
    done = evaluate("--budget-tokens", "60", "--concurrency", "1", "--format", "json")
    identity, before = done.json["evaluation"], len(server.requests)
    assert 0 < before < calls
    with serving(answer) as other:
        refused = merrow("resume", identity, "--base-url", other.base_url)
        assert refused.code == 2
        assert "--reuse any" in refused.err
        again = ("resume", identity, "--base-url", other.base_url, "--budget-tokens", "100000", "--reuse", reuse)
        resumed = merrow(*again)
        assert resumed.code == 0, resumed.err
        assert "11 right, 1 wrong" in resumed.out
        assert len(other.requests) == (calls if reuse == "same" else calls - before)
        assert merrow("resume", identity, "--base-url", other.base_url).code == 0
        assert len(other.requests) == (calls if reuse == "same" else calls - before)
        said = merrow("show", identity, "--format", "json").json["endpoint"]
        origins = [one.base_url.removesuffix("/v1") for one in ([other] if reuse == "same" else [server, other])]
        assert [origin in said for origin in origins] == [True] * len(origins)
        assert (server.base_url.removesuffix("/v1") in said) is (reuse == "any")
    assert len(server.requests) == before


@pytest.mark.slow
@posix
def test_it_is_cancelled_from_elsewhere(server: OpenAIServer) -> None:
    server.answer = only(5, answer)
    process = begun("--concurrency", "1")
    until(server, 6)
    [one] = merrow("evaluations", "--format", "json").json
    busy = merrow("evaluations", "--delete", one["evaluation"])
    assert (busy.code, "still going on" in busy.err) == (2, True), busy.err
    cancelled = merrow("cancel", one["evaluation"][:6])
    assert cancelled.code == 0, cancelled.err
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert merrow("evaluations", "--format", "json").json[0]["status"] == "cancelled"
    again = merrow("cancel", one["evaluation"])
    assert (again.code, "No process works on evaluation" in again.err) == (1, True)
    assert len(server.requests) == 6


def test_they_are_deleted_with_their_runs(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("1", "2", "3"):
        assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--seed", seed).code == 0
    folder = Path("state/evaluations")
    newest, middle, oldest = (one["evaluation"] for one in in_process(capsys, "evaluations", "--format", "json").json)
    assert in_process(capsys, "evaluations", "--delete", newest[:8]).code == 0
    assert [one["evaluation"] for one in in_process(capsys, "evaluations", "--format", "json").json] == [middle, oldest]
    assert not list(folder.glob(f"{newest}*"))
    assert "0 evaluations were" in in_process(capsys, "evaluations", "--prune", "1").err
    assert "2 evaluations were" in in_process(capsys, "evaluations", "--prune", "0").err
    assert list(folder.iterdir()) == []
    assert in_process(capsys, "show", middle).code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listed", "damage"),
    [
        ("evaluations", "UPDATE evaluations SET plan = '{' WHERE id = ?"),
        ("optimizations", "UPDATE optimizations SET plan = '{' WHERE id = ?"),
        ("optimizations", "UPDATE optimizations SET held_out = '[]' WHERE id = ?"),
        ("optimizations", "UPDATE candidates SET parents = '{' WHERE optimization = {number}"),
        ("optimizations", "UPDATE candidates SET parents = '[null]' WHERE optimization = {number}"),
        ("optimizations", "UPDATE draws SET places = '[1]' WHERE optimization = {number}"),
        ("optimizations", "UPDATE draws SET outcome = '[[]]' WHERE optimization = {number}"),
        ("optimizations", "INSERT INTO proposals (optimization, draw, said) VALUES ({number}, 1, 'null')"),
    ],
)
def test_a_damaged_one_hides_no_other_and_can_be_deleted(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], listed: str, damage: str
) -> None:
    word = {"evaluations": "evaluation", "optimizations": "search"}[listed]
    begun = ("--limit", "1") if word == "evaluation" else ("--small", "--budget-evaluations", "60")
    for _ in range(2):
        done = in_process(capsys, "evaluate" if word == "evaluation" else "optimize", "flow.mmd", *OWN, *begun)
        assert done.code in (0, 1), done.err
    hurt, whole = (one[word] for one in in_process(capsys, listed, "--format", "json").json)
    sql = damage.replace("{number}", "(SELECT number FROM optimizations WHERE id = ?)")
    with closing(sqlite3.connect(Path("state") / "runs.sqlite")) as database, database:
        assert database.execute(sql, (hurt,)).rowcount
    shown = in_process(capsys, listed, "--format", "json")
    assert (shown.code, [one[word] for one in shown.json]) == (0, [whole])
    assert f"The record of {word} {hurt} is damaged in the journal; " in shown.err
    assert in_process(capsys, "runs", "--kind", listed[:-1], "--format", "json").json == shown.json
    assert in_process(capsys, "show", hurt).code != 0
    assert in_process(capsys, listed, "--delete", hurt).code == 0
    assert in_process(capsys, listed, "--format", "json").err == ""
    assert in_process(capsys, listed, "--prune", "0").code == 0
    assert in_process(capsys, listed, "--format", "json").json == []


def test_resume_takes_gates(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--budget-tokens", "60", "--format", "json")
    more = ("resume", done.json["evaluation"], "--budget-tokens", "100000")
    failed = in_process(capsys, *more, "--fail-under", "0.95")
    assert (failed.code, "The score 0.917 is under 0.95." in failed.err) == (1, True), failed.err
    assert in_process(capsys, *more, "--fail-under", "0.9").code == 0
    assert "--baseline EVAL" in in_process(capsys, *more, "--max-drop", "0.1").err
    run = in_process(capsys, "run", "flow.mmd", "--input", "problem=1 plus 1", "--json").out
    identity = json.loads(run.splitlines()[0])["run"]
    refused = in_process(capsys, "resume", identity, "--fail-under", "0.9")
    assert (refused.code, "is a run" in refused.err) == (2, True)


def test_what_it_may_cost_counts_the_judge_and_not_what_is_known(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def calls(*more: str) -> dict[str, int]:
        dry = in_process(capsys, "evaluate", "flow.mmd", *more, "--dry-run", "--format", "json")
        found: dict[str, int] = dry.json["calls"]
        return found

    judged = ("--dataset", "own.jsonl", "--metric", "judge", "--metric-option", "rubric=Is it the sum?")
    assert calls(*OWN) == {"least": 24, "most": 24}
    assert calls(*judged) == {"least": 36, "most": 48}
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "5").code == 0
    assert calls(*OWN) == {"least": 14, "most": 14}
    assert calls(*OWN, "--fresh") == {"least": 24, "most": 24}
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN).code == 0
    assert calls(*OWN) == {"least": 0, "most": 0}
    assert calls(*OWN, "--repeat", "2") == {
        "least": 0,
        "most": 0,
    }  # at temperature 0 they are answered like the first time
    write("flow.mmd", FLOW.replace("m-1}", "m-1, temperature: 0.5}"))
    assert calls(*OWN, "--repeat", "3") == {"least": 72, "most": 72}


def test_it_goes_on_from_another_folder_and_by_the_same_metric(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("score.py", "def score(inputs, gold, output):\n    return float(gold == output), 'compared'\n")
    write("ids.txt", "q1\nq3\nq5\n")
    named = (
        "--items",
        "@ids.txt",
        "--metric",
        "python",
        "--metric-option",
        "file=score.py",
        "--map",
        "problme=problem",
    )
    server.answer = lambda request: Status(400, "no") if "5 plus 5" in request.prompt else answer(request)
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN[:4], *named)
    assert done.code == 0, done.err
    assert "flow.mmd has no input problme, so that the field problem feeds nothing; did you mean PROBLEM?" in done.err
    server.answer = answer
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    identity = done.err.rpartition("merrow show ")[2].strip()
    assert "1 right, 1 wrong, 1 unanswered" in done.out
    resumed = in_process(capsys, "resume", identity)
    assert (resumed.code, "2 right, 1 wrong" in resumed.out) == (0, True), resumed.err
    Path("../score.py").write_text("def score(inputs, gold, output):\n    return 1\n", encoding="utf-8")
    refused = in_process(capsys, "resume", identity)
    assert (refused.code, "The metric python of evaluation" in refused.err) == (2, True), refused.err
    monkeypatch.chdir("..")
    saved = in_process(capsys, "test", "--save", f"{identity}/q5")
    assert (saved.code, "has the new case" in saved.out) == (0, True), saved.err
    assert not list(Path("state/evaluations").glob("*.ballast"))


@pytest.mark.slow
@posix
def test_a_judge_that_answered_is_not_asked_again_after_a_kill(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process is killed where the judge's answer is kept and the score is not."""

    def judged(request: Received) -> Step:
        if request.body["model"] != "judge-1":
            return answer(request)
        return Reply(json.dumps({"reason": "well done", "score": 8}))

    server.answer = judged
    data(1)
    program = (
        "import os, signal, sys\n"
        "from merrow_optimizer.evaluation import answering\n"
        "from merrow_server.cli import main\n"
        "class Dying(answering.ScoreRecord):\n"
        "    def __new__(cls, *given): os.kill(os.getpid(), signal.SIGKILL)\n"
        "answering.ScoreRecord = Dying\n"
        "main(sys.argv[1:])\n"
    )
    asked = ("--dataset", "own.jsonl", "--metric", "judge", "--judge-model", "judge-1")
    command = ("evaluate", "flow.mmd", *asked, "--metric-option", "rubric=Is it the sum?")
    killed = subprocess.run(
        [sys.executable, "-c", program, *command], check=False, capture_output=True, timeout=PATIENCE
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(server.requests) == 3
    [one] = in_process(capsys, "evaluations", "--format", "json").json
    assert one["status"] == "interrupted"
    resumed = in_process(capsys, "resume", one["evaluation"])
    assert resumed.code == 0, resumed.err
    assert len(server.requests) == 3
    assert in_process(capsys, "show", one["evaluation"], "--format", "json").json["usage"]["calls"] == 3


def test_all_of_a_file_is_a_reading_of_what_is_held_out(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "validate").code == 0
    assert "this is its first reading" in in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "test").err
    assert in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "all").code == 0
    assert "it was read 2 times before" in in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "test").err


def test_what_goes_with_something_else_is_refused_for_an_evaluation(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--budget-tokens", "60", "--format", "json")
    identity, calls = done.json["evaluation"], len(server.requests)
    for arguments, sentence in (
        (("resume", identity, "--json"), "--json goes with a run; {} is an evaluation."),
        (("resume", identity, "--verbose"), "--verbose goes with a run; {} is an evaluation."),
        (("resume", identity, "--record", "x"), "--record goes with a run; {} is an evaluation."),
        (("resume", identity, "--allow-unsafe-code"), "--allow-unsafe-code goes with a run; {} is an evaluation."),
        (("resume", identity, "--jobs", "1"), "--jobs goes with a search; {} is an evaluation."),
        (("show", identity, "--node", "A"), "--node goes with a run; {} is an evaluation."),
        (("show", identity, "--revision", "0"), "--revision goes with a run; {} is an evaluation."),
        (("show", identity, "--item", "q33"), "Evaluation {} has no item q33. Did you mean q3?"),
        (("show", identity, "--item", "spider"), "Evaluation {} has no item spider."),
        (
            ("show", identity, "--item", "q3", "--format", "csv"),
            "--format csv shows a whole evaluation; leave out --item.",
        ),
    ):
        refused = in_process(capsys, *arguments)
        assert (refused.code, refused.out, refused.err) == (2, "", f"merrow: {sentence.format(identity)}\n")
    assert len(server.requests) == calls
    with serving(answer) as other:
        elsewhere = in_process(capsys, "resume", identity, "--base-url", other.base_url).err
        assert "To continue with that, set the environment as it was. Else choose --reuse any" in elsewhere
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "1", "--base-url", "offline", "--format", "json")
    offline = in_process(capsys, "resume", done.json["evaluation"], "--base-url", server.base_url)
    assert (offline.code, "was answered by" in offline.err) == (2, True)
    assert "To continue with that, use --base-url offline. Else choose --reuse any" in offline.err
    assert len(server.requests) == calls


def test_one_that_is_not_over_says_what_is_not_asked_yet(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--budget-tokens", "60", "--concurrency", "1")
    assert done.code == 1
    one = in_process(capsys, "evaluations", "--format", "json").json[0]
    identity, missing = one["evaluation"], one["missing"]
    assert 0 < missing < 12
    assert f", {missing} not asked yet" in done.out
    assert f"{missing} not asked yet" in in_process(capsys, "show", identity, "--format", "html").out
    asked = {row["item"] for row in in_process(capsys, "show", identity, "--format", "json").json["rows"]}
    assert len(asked) == 12 - missing
    for item in (f"q{n}" for n in range(12)):
        shown = in_process(capsys, "show", identity, "--item", item).out
        sentence = f"Item {item} was not asked yet; continue it with: merrow resume {identity}\n"
        assert (shown == sentence) is (item not in asked)
        known = in_process(capsys, "show", identity, "--item", item, "--format", "json").json
        assert [score["item"] for score in known] == ([item] if item in asked else [])
    in_process(capsys, "resume", identity, "--budget-tokens", "100000")
    assert "not asked yet" not in in_process(capsys, "show", identity).out


def test_repeats_are_summed_up_with_what_was_right_only_sometimes(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """q3 is always wrong, q0 and q1 are always right, of the others one of two answers is."""
    seen: set[str] = set()

    def sometimes(request: Received) -> Step:
        text = request.body["messages"][-1]["content"]
        if text.startswith("sum") and text not in ("sum 0 0", "sum 1 1") and text not in seen:
            seen.add(text)
            return Reply("7.5")
        return answer(request)

    server.answer = sometimes
    write("flow.mmd", FLOW.replace("m-1}", "m-1, temperature: 0.5}"))
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--repeat", "2")
    summed = "pass^1 0.542, pass^2 0.167; 9 flaky"
    assert f"\n{summed}: q10, q11, q2, q4, q5, q6, q7, q8, ...\n" in done.out
    assert "13 right, 11 wrong\n" in done.out
    [one] = in_process(capsys, "evaluations", "--format", "json").json
    assert f"2; {summed}" in in_process(capsys, "show", one["evaluation"], "--format", "html").out
    worth = (
        "At temperature 0 nothing is asked again, so repeats show the same, unless the endpoint refuses `temperature`."
    )
    assert worth not in done.err
    assert "flaky" not in in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "2").out
    write("flow.mmd", FLOW)
    assert worth not in in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "2").err
    twice = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "2", "--repeat", "2")
    assert worth in twice.err
    assert "\npass^1 1.000, pass^2 1.000; 0 flaky\n" in twice.out


def test_without_a_score_this_is_said_everywhere(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = lambda _: Status(400, "no")
    none = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "2")
    assert "No score (numeric)\n2 unanswered; the score leaves out what is unanswered or invalid\n" in none.out
    assert "  no score  numeric  " in in_process(capsys, "evaluations").out
    [first] = [one["evaluation"] for one in in_process(capsys, "evaluations", "--format", "json").json]
    assert "No item has a score" in in_process(capsys, "show", first, "--format", "html").out
    server.answer = answer
    write("other.mmd", FLOW.replace("second", "other"))
    scored = in_process(capsys, "evaluate", "other.mmd", *OWN, "--limit", "2", "--baseline", first)
    second = in_process(capsys, "evaluations", "--format", "json").json[0]["evaluation"]
    assert scored.out.endswith(f"{first} and {second} have scored no item in common.\n")
    more = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "3", "--baseline", second)
    assert more.out.endswith("\n1 item has a score in only one of them, and no part in this.\n"), more.out
    more = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "4", "--baseline", second)
    assert more.out.endswith("\n2 items have a score in only one of them, and no part in this.\n")
    assert "So few items show no difference with probability .8, however large it is." in more.out


def test_a_workflow_without_texts_is_not_masked(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    write("flow.mmd", "flowchart TD\n    PROBLEM([P]):::Interface --> RETURN([R]):::Interface\n")
    refused = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--mask", "1")
    assert refused.code == 2
    assert "has no node with an output of a kind of Text, so there is nothing to mask." in refused.err


def test_a_page_is_written_where_it_is_asked_for(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--limit", "1", "--format", "json")
    show = ("show", done.json["evaluation"], "--format", "html")
    written = in_process(capsys, *show, "-o", "page.html")
    assert (written.code, written.out, written.err) == (0, "", "")
    assert Path("page.html").read_text(encoding="utf-8").strip() == in_process(capsys, *show).out.strip()
    assert "merrow: page/no.html can't be written" in in_process(capsys, *show, "-o", "page/no.html").err


def test_of_many_failures_the_first_are_shown_with_aligned_columns(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts wider than their columns are cut short by the cells that they take on a terminal."""
    server.answer = lambda _: Reply("手" * 60 + " 7.5")
    rows = [{"id": f"手紙{n:02}", "problem": f"What is {n} plus {n}?", "answer": "手" * n} for n in range(52)]
    write("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "exact")
    done = in_process(capsys, "evaluate", "flow.mmd", *own)
    assert done.code == 0, done.err
    head, *lines = done.out.partition("\n\n")[0].splitlines()
    [one] = in_process(capsys, "evaluations", "--format", "json").json
    assert lines.pop() == f"and 2 more: merrow show {one['evaluation']}"
    ids = {str(row["id"]) for row in rows}
    assert len({re.split(r"  +", line)[1] for line in lines} & ids) == len(lines) == 50
    column = cell_len(head.partition("expected")[0])
    long = [line for line in lines if line.count("...") == 2]
    assert len(long) > 30
    for line in long:
        read, gold, _ = line.split("...")
        # The widest text that ends with dots and takes at most the 28 cells of its column.
        assert (cell_len(f"{read}...") + 2, cell_len(f"{read}...{gold}...") - column) == (column, 27), line
    whole = in_process(capsys, "show", one["evaluation"]).out
    assert all(one in whole for one in ids)
    assert " more: merrow show" not in whole


def test_the_log_of_one_whose_process_died_says_so(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--budget-tokens", "60", "--format", "json")
    identity = done.json["evaluation"]
    stopped = in_process(capsys, "show", identity, "--format", "inspect").json
    assert (stopped["status"], "budget" in stopped["error"]["message"]) == ("error", True)
    with closing(Store.open()) as store:
        store.evaluations.update(identity, "running")
    died = in_process(capsys, "show", identity, "--format", "inspect").json
    assert (died["status"], died["error"]["message"]) == ("error", "Its process ended before it did.")
    assert in_process(capsys, "show", identity).out.startswith(f"{identity}  interrupted  ")
    assert in_process(capsys, "resume", identity, "--budget-tokens", "100000").code == 0
    over = in_process(capsys, "show", identity, "--format", "inspect").json
    assert (over["status"], "error" in over) == ("success", False)


def test_what_nobody_can_rate_has_no_verdict(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an item without an answer nothing is said, of one that nobody rated that nobody did."""
    server.answer = lambda request: Status(400, "no") if " 0 " in request.prompt else answer(request)
    done = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--items", "q0,q1,q2", "--format", "json")
    identity = done.json["evaluation"]
    rows = in_process(capsys, "show", identity, "--format", "json").json["rows"]
    assert not any("verdict" in row for row in rows)
    (row,) = in_process(capsys, "show", identity, "--item", "q1", "--format", "json").json
    assert "verdict" not in row
    with closing(Store.open()) as store:
        record = store.evaluations.get(identity)
        kept = store.evaluations.score(identity, "q1", 0)
        assert kept is not None
        assert kept.output is not None
        store.labels.put(KnownItems.of(record.plan).hash("q1") or "", kept.output, "bad", note="too short")
    shown = in_process(capsys, "show", identity, "--format", "json").json
    by = {row["item"]: {name: row[name] for name in ("verdict", "note") if name in row} for row in shown["rows"]}
    assert by == {"q0": {}, "q1": {"verdict": "bad", "note": "too short"}, "q2": {"verdict": None}}
    assert shown["people"]["items"] == 1
    for item, said in (("q1", "people\nbad: too short\n"), ("q2", ""), ("q0", "")):
        text = in_process(capsys, "show", identity, "--item", item).out
        assert (said in text, "people" in text) == (True, bool(said))


def test_an_option_of_a_metric_is_a_number_where_it_has_to_be_one(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """q3 is answered with 7, which is 1 away from its gold answer."""

    def asked(*options: str) -> Outcome:
        given = (word for option in options for word in ("--metric-option", option))
        return in_process(capsys, "evaluate", "flow.mmd", *OWN, "--items", "q3", *given)

    for value, why in (
        ("x", "a number"),
        ("true", "a number"),
        ('"1"', "a number"),
        ("NaN", "0 or more"),
        ("-1", "0 or more"),
    ):
        refused = asked(f"tolerance={value}")
        assert (refused.code, refused.err) == (2, f"merrow: `tolerance`: The tolerance must be {why}.\n")
    assert asked("tolerance=0", "tolerance=1").err == "merrow: --metric-option tolerance is given twice.\n"
    assert not server.requests
    assert "1 wrong" in asked("tolerance=0.5").out
    assert "1 right" in asked("tolerance=1").out
    assert "1 right" in asked("tolerance=1.5e0").out
