"""`merrow optimize` and what shows, lists and ends searches, against an endpoint on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step, only
from tests.server.program import in_process, merrow, write
from tests.server.searching import FLOW, LIMITED, OWN, answer, begun, data, newest, question, server

__all__ = ["server"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
Capture = pytest.CaptureFixture[str]


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def prices(server: OpenAIServer) -> None:
    Path("config").mkdir(exist_ok=True)
    write("config/config.toml", f'[prices."{server.origin}"."*"]\ninput = 1\noutput = 1\n')


@pytest.mark.slow
def test_what_it_may_cost_what_it_found_and_its_files(server: OpenAIServer, capsys: Capture) -> None:
    dry = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--dry-run")
    assert dry.code == 0, dry.err
    assert "20 items of own.jsonl (part all) to search with, 10 set aside for the end" in dry.out
    assert "affords about 8 candidates beside the start, with 20 answers on held-out items reserved" in dry.out
    plan = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--dry-run", "--format", "json").json
    assert (plan["items"], plan["held_out_items"], plan["candidate_answers"]) == (20, 10, 10)
    assert (plan["candidates"], plan["item"]["calls"]) == ({"least": 8, "most": 8}, {"least": 2, "most": 2})
    assert not server.requests
    assert list(Path().glob("*.search-*")) == []
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED)
    assert done.code == 0, done.err
    assert "affords about 8 candidates" in done.err
    assert "The budget of 120 answers is used up, except for what the held-out items need." in done.out
    assert Path("flow.mmd").read_text() == FLOW
    one = newest()
    assert (one["status"], one["answers"], one["candidates"]) == ("finished", 100, one["candidates"])
    folder = Path(one["folder"])
    files = sorted(folder.glob("round_*.mmd"))
    assert len(files) == one["candidates"]
    checked = merrow("check", *map(str, files), str(folder / "best.mmd"))
    assert checked.code == 0, checked.out
    assert re.search(
        r"%% Merrow search \w+, round 1: made of round 0 by \w+: .+\n%% Merrow search: [\d.]+ on \d+",
        files[1].read_text(),
    )
    assert one["search"] in in_process(capsys, "optimizations").out
    assert one["search"] in in_process(capsys, "runs", "--kind", "optimization").out
    assert in_process(capsys, "runs", "--kind", "evaluation").out == ""
    shown = in_process(capsys, "show", one["search"][:6])
    assert "the start" in shown.out
    assert one["search"] in shown.out
    scored = in_process(capsys, "evaluate", str(files[1]), *OWN)
    assert scored.code == 0, scored.err
    assert "changed since" not in scored.err
    run = next(
        line
        for line in events(in_process(capsys, "show", one["search"], "--format", "json").out)
        if line["event"] == "draw"
    )
    of_item = run["answers"][0]["run"]  # type: ignore[index]
    assert in_process(capsys, "show", of_item).code == 0


ASKED = "A candidate is asked for 20 answers or more"
UNPRICED = (
    f"The start makes 2 calls for one item. What they cost is not known, because the model has no known price. {ASKED}."
)
PRICED = (
    f"The start makes 2 calls for one item, at $0.0001 to $0.0656. {ASKED}, which cost about $0.0014 to $1.3122 if it is like the"
    " start."
)
AFFORDS = "That affords about {} beside the start, with 40 answers on held-out items reserved."


def test_a_dry_run_says_in_words_what_a_candidate_costs_and_how_many_may_be_tried(
    server: OpenAIServer, capsys: Capture
) -> None:
    data(60)

    def told(*more: str) -> list[str]:
        done = in_process(capsys, "optimize", "flow.mmd", *OWN, "--strategy", "guided", "--dry-run", *more)
        assert (done.code, done.err) == (0, "")
        return done.out.splitlines()

    first = "40 items of own.jsonl (part all) to search with, 20 set aside for the end."
    last = "No call was made."
    for more, said in (
        (("--budget-evaluations", "140"), AFFORDS.format("3 candidates")),
        (("--budget-tokens", "100000"), AFFORDS.format("0 to 134 candidates")),
        (("--budget-tokens", "100000", "--budget-evaluations", "220"), AFFORDS.format("0 to 7 candidates")),
        (("--patience", "1"), "Candidates are tried until 1 draw brings no better one."),
        (("--patience", "2"), "Candidates are tried until 2 draws bring no better one."),
        (("--budget-seconds", "10"), "Nothing bounds the number of candidates but time."),
    ):
        assert told(*more) == [first, UNPRICED, said, last]
    assert told("--optimizer-model", "opt", "--judge-model", "judge", "--budget-evaluations", "220") == [
        "32 items of own.jsonl (part all) to search with, 20 set aside for the end.",
        UNPRICED.replace("20 answers", "16 answers"),
        "opt proposes candidates, 8 draws apart, which judge judges; 8 items may be shown to it and score nobody.",
        "A question takes 3 to 19 calls with repairs and the judge, at most 2 times. What they cost is not known, because a "
        "model has no known price.",
        AFFORDS.format("9 candidates"),
        last,
    ]
    write("config/config.toml", f'[prices."{server.origin}"."*"]\ninput = 2\noutput = 8\n')
    assert told("--budget-usd", "10") == [first, PRICED, AFFORDS.format("3 to 6,940 candidates"), last]
    write("config/config.toml", f'[prices."{server.origin}"."*"]\ninput = 0\noutput = 0\n')
    free = f"The start makes 2 calls for one item, at $0. {ASKED}, which cost about $0 if it is like the start."
    assert told("--budget-usd", "10") == [first, free, "Nothing bounds the number of candidates but time.", last]


@pytest.mark.slow
def test_held_out_items_are_read_once_and_the_second_time_there_is_no_p(server: OpenAIServer, capsys: Capture) -> None:
    data(100)
    published = (*OWN, "--part", "validate", "--budget-evaluations", "400", "--strategy", "climb")
    done = in_process(capsys, "optimize", "flow.mmd", *published, "--format", "json")
    assert done.code == 0, done.err
    told = events(done.out)
    assert {line["schema"] for line in told} == {1}
    kinds = [line["event"] for line in told]
    assert (kinds[0], kinds[-1]) == ("search_started", "search_finished")
    [first] = [line for line in told if line["event"] == "held_out"]
    assert (first["items"], first["read_before"]) == (80, 0)
    assert isinstance(first["p"], float)
    [crown] = {line["candidate"] for line in told if line["event"] == "crown_file"}
    lines = events(in_process(capsys, "show", str(told[0]["search"]), "--format", "json").out)
    [kept] = [line for line in lines if line["event"] == "held_out"]
    assert sorted(kept["answers"]) == sorted(["0", str(crown)])  # type: ignore[arg-type]
    searched = {item for line in lines if line["event"] == "draw" for item, _ in line["places"]}  # type: ignore[union-attr]
    held = {one["item"] for one in kept["answers"]["0"]}  # type: ignore[index]
    assert (len(searched), len(held), searched & held) == (20, 80, set())
    [row] = in_process(capsys, "optimizations").out.splitlines()
    assert f"  {first['difference']:+.3f} held out  " in row
    again = in_process(capsys, "optimize", "flow.mmd", *published, "--seed", "5", "--format", "json")
    [second] = [line for line in events(again.out) if line["event"] == "held_out"]
    assert (second["p"], second["read_before"]) == (None, 1)
    assert "was read once before, so that there will be no p" in again.err


def test_an_evaluation_of_the_part_test_is_a_reading_of_it(server: OpenAIServer, capsys: Capture) -> None:
    data(100)
    scored = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "test", "--limit", "3", "--format", "json")
    assert in_process(capsys, "runs", "--kind", "evaluation", "--delete", scored.json["evaluation"]).code == 0
    dry = in_process(
        capsys, "optimize", "flow.mmd", *OWN, "--part", "validate", "--dry-run", "--budget-evaluations", "400"
    )
    assert "The part test was read once before" in dry.out, dry.err


@pytest.mark.slow
def test_a_search_reads_what_it_searches_with(server: OpenAIServer, capsys: Capture) -> None:
    data(100)
    small = (*OWN, "--part", "all", "--small", "--budget-evaluations", "200")
    assert in_process(capsys, "optimize", "flow.mmd", *small).code == 0
    scored = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--part", "test", "--limit", "3", "--format", "json")
    assert "for final figures only; it was read once before" in scored.err


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            ("--budget-evaluations", "30"),
            "A budget of 30 answers is too small to learn anything: 20 answers of the start",
        ),
        (("--budget-tokens", "100"), "are the least that makes sense, which is about"),
        (("--budget-tokens", "1"), "A budget of 1 tokens is too small to learn anything: 20 answers of the start"),
        (("--budget-tokens", "0"), "A budget of 0 tokens is too small to learn anything: 20 answers of the start"),
        (("--budget-usd", "1"), "price"),
        (("--part", "test"), "The part test is held out"),
        (("--limit", "19"), "19 items are too few to search with and to test with; 20 are the least"),
        (("--max-nodes", "4"), "has 4 nodes and may have 4"),
        (("--patience", "3", "--strategy", "climb"), "--patience goes with the strategy guided"),
        (("--max-cost-per-item", "0.1"), "--max-cost-per-item needs the price"),
        (("--from", "none"), "There is no search 'none'"),
        (("--proposer", "nobody"), "proposer"),
        (("--strategy", "annealing"), "strategy"),
        (("--set", "alpha=0.1"), "The strategy climb has no constant 'alpha'"),
        (("--sure", "0.05", "--strategy", "guided"), "--sure goes with the strategies climb, evolve and mcts"),
    ],
)
@pytest.mark.thinned(24)
def test_what_can_not_be_is_refused_before_the_first_call(
    server: OpenAIServer, capsys: Capture, more: tuple[str, ...], sentence: str
) -> None:
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, *more)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert not server.requests
    assert in_process(capsys, "optimizations", "--format", "json").json == []


def test_workflows_that_can_not_be_changed_are_refused(server: OpenAIServer, capsys: Capture) -> None:
    write("broken.mmd", FLOW.replace("op: Custom", "op: Costum"))
    assert "has 2 errors" in in_process(capsys, "optimize", "broken.mmd", *OWN).err
    write("drawing.mmd", "flowchart TD\n    A[Think] --> B[Answer]\n")
    refused = in_process(capsys, "optimize", "drawing.mmd", *OWN)
    assert (refused.code, server.requests) == (2, [])


@pytest.mark.slow
def test_without_numpy_it_searches_and_guided_says_what_to_install(server: OpenAIServer) -> None:
    program = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'numpy': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "from merrow_server.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "optimize", "flow.mmd", *OWN, "--budget-evaluations", "120"]
    guided = subprocess.run(
        [*command, "--strategy", "guided"], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert guided.returncode == 2
    assert re.search(r"needs the package numpy; install it with: \S+ -m pip install '?numpy", guided.stderr)
    assert not server.requests
    usual = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (usual.returncode, newest()["status"]) == (0, "finished"), usual.stderr


@pytest.mark.slow
def test_nothing_of_numpy_is_imported_before_a_search_begins(server: OpenAIServer) -> None:
    for words in (
        ["optimize", "flow.mmd", "--dataset", "none.jsonl"],
        ["optimizations"],
        ["optimize", "flow.mmd", *OWN, "--strategy", "climb", "--dry-run"],
    ):
        program = f"import sys\nfrom merrow_server.cli import main\nmain({words!r})\nsys.exit('numpy' in sys.modules)\n"
        assert subprocess.run([sys.executable, "-c", program], check=False, timeout=PATIENCE).returncode == 0, words


@pytest.mark.slow
def test_an_endpoint_that_dies_pauses_it(server: OpenAIServer, capsys: Capture) -> None:
    def dying(request: Received) -> Step:
        return Status(401, "no such key") if len(server.requests) > 90 else answer(request)

    server.answer = dying
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED)
    assert done.code == 1
    assert "Continue it with: merrow resume" in done.err
    one = newest()
    assert (one["status"], one["held_out"]) == ("stopped", None)
    said = f"about {one['told']:.3f}, start {one['start_told']:.3f}" if one["crown"] else f"start {one['told']:.3f}"
    assert f"  {said}  " in in_process(capsys, "optimizations").out
    assert one["crown"], said
    asked = len(server.requests)
    server.answer = answer
    resumed = in_process(capsys, "resume", one["search"])
    assert resumed.code == 0, resumed.err
    assert newest()["status"] == "finished"
    questions = [question(request) for request in server.requests]
    # Asked again is what was refused, and what was in flight at the first refusal: that ends what can't succeed any more.
    assert len(questions) - len(set(questions)) <= asked - 90 + server.most_at_once


@pytest.mark.slow
def test_one_that_is_not_over_is_listed_and_shown_with_what_it_knows(server: OpenAIServer, capsys: Capture) -> None:
    """The endpoint dies before the start is scored, then after it, where no candidate is better."""

    def until(count: int) -> None:
        server.answer = lambda _: Status(401, "no") if len(server.requests) > count else Reply("no")

    def best() -> str:
        [line] = in_process(capsys, "optimizations").out.splitlines()
        return re.split("  +", line)[4]

    until(5)
    asked = (*OWN, "--strategy", "climb", "--jobs", "2", "--concurrency", "1", "--objective", "pareto")
    assert in_process(capsys, "optimize", "flow.mmd", *asked).code == 1
    search = newest()["search"]
    assert best() == "no score"
    none = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--from", search)
    assert (none.code, none.err) == (2, f"merrow: Search {search} has no candidate with a score to begin with.\n")
    calls = len(server.requests)
    for arguments, sentence in (
        (("resume", search, "--verbose"), f"--verbose goes with a run; {search} is a search."),
        (("resume", search, "--replay", "x"), f"--replay goes with a run; {search} is a search."),
        (
            ("resume", search, "--fail-under", "1"),
            f"Gates such as --fail-under go with an evaluation; {search} is a search.",
        ),
        (
            ("resume", search, "--jobs", "3"),
            f"Search {search} was begun with --jobs 2: what it draws depends on that, so it continues with no other.",
        ),
        (
            ("resume", search, "--reuse", "same"),
            f"Search {search} goes by the answers that it has; choose --reuse any to keep them, or begin another search.",
        ),
        (("show", search, "--node", "A"), f"--node goes with a run; {search} is a search."),
        (("show", search, "--item", "q1"), "--item goes with an evaluation; list them with: merrow evaluations"),
        (("show", search, "--format", "csv"), "A search is shown as text, json or html, not as csv."),
    ):
        refused = in_process(capsys, *arguments)
        assert (refused.code, refused.out, refused.err) == (2, "", f"merrow: {sentence}\n")
    assert len(server.requests) == calls
    until(calls + 100)
    assert in_process(capsys, "resume", search, "--jobs", "2").code == 1
    assert best() == "start 0.000"
    shown = in_process(capsys, "show", search).out
    assert "No candidate is estimated to be better than the start so far.\n" in shown
    assert "held-out items were not read yet.\n" in shown
    front = shown.partition("No other candidate beats these in estimated score and cost at once:\n")[2].splitlines()
    assert re.fullmatch(r"  round_\d+\.mmd  0\.000  \d+ calls? an item", front[0]), shown


@pytest.mark.slow
@posix
def test_it_is_cancelled_from_elsewhere_and_deleted(server: OpenAIServer) -> None:
    server.answer = only(9, lambda _: Reply("no"))
    process = begun(*OWN, "--concurrency", "1")
    end = time.monotonic() + PATIENCE
    while len(server.requests) < 10 and time.monotonic() < end:
        time.sleep(0.01)
    one = newest()
    assert one["status"] == "running"
    assert merrow("optimizations", "--delete", one["search"]).code == 2
    assert merrow("cancel", one["search"][:6]).code == 0
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert newest()["status"] == "cancelled"
    assert merrow("cancel", one["search"]).code == 1
    assert merrow("runs", "--kind", "optimization", "--delete", one["search"]).code == 0
    assert merrow("optimizations", "--format", "json").json == []
    assert list(Path("state/evaluations").glob("*")) == []


@pytest.mark.slow
@posix
def test_ctrl_c_keeps_what_is_finished(server: OpenAIServer) -> None:
    server.answer = only(9, lambda _: Reply("no"))
    process = begun(*OWN)
    end = time.monotonic() + PATIENCE
    while len(server.requests) < 10 and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert f"merrow resume {newest()['search']}" in err.decode()
    assert newest()["status"] == "cancelled"


def test_a_start_with_everything_right_is_said_and_nothing_more_is_paid(server: OpenAIServer, capsys: Capture) -> None:
    server.answer = lambda _: Reply("yes")
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED)
    assert done.code == 0, done.err
    assert "The start has all of its 20 answers right" in done.err
    assert "No improvement found" in done.out
    assert newest()["answers"] == 20
    assert "held-out items were not read" in done.out


def test_a_start_with_everything_wrong_is_said(server: OpenAIServer, capsys: Capture) -> None:
    server.answer = lambda _: Reply("no")
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--strategy", "climb")
    assert done.code == 0, done.err
    assert "The start has all of its 20 answers wrong" in done.err
    assert "No improvement found" in done.out


@pytest.mark.slow
def test_constants_of_a_published_loop_are_kept_for_a_resume(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", FLOW.replace("model: m-1", "model: m-1, temperature: 0.7"))
    asked = [*OWN, "--strategy", "evolve", "--set", "repeats=2", "--set", "alpha=1.5"]
    dry = in_process(capsys, "optimize", "flow.mmd", *asked, "--dry-run", "--format", "json").json
    assert (dry["candidate_answers"], dry["least_answers"]) == (40, 180)
    raced = in_process(capsys, "optimize", "flow.mmd", *asked, "--sure", "0.1", "--dry-run", "--format", "json").json
    assert raced["candidate_answers"] == 20
    assert in_process(capsys, "optimize", "flow.mmd", *asked, "--budget-evaluations", "180").code == 0
    one = newest()
    assert (one["settings"]["constants"], one["settings"]["sure"]) == ({"repeats": 2.0, "alpha": 1.5}, None)
    assert (one["draws"], one["answers"]) == (4, 160)
    assert in_process(capsys, "resume", one["search"]).code == 0


@pytest.mark.slow
def test_a_small_search_claims_nothing(server: OpenAIServer, capsys: Capture) -> None:
    data(8)
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, "--small", "--budget-evaluations", "60")
    assert done.code == 0, done.err
    assert "No item is held out (--small)" in done.err
    assert newest()["held_out"] is None


@pytest.mark.slow
def test_it_begins_with_the_best_of_another_one_and_knows_what_was_changed_by_hand(
    server: OpenAIServer, capsys: Capture
) -> None:
    assert in_process(capsys, "optimize", "flow.mmd", *LIMITED).code == 0
    first = newest()
    rounds = [
        one
        for one in events(in_process(capsys, "show", first["search"], "--format", "json").out)
        if one["event"] == "candidate"
    ]
    best = max(rounds[1:], key=lambda one: float(str(one["told"])))
    file = Path(first["folder"]) / str(best["file"])
    changed = file.read_text().replace("second", "another prompt").replace("first", "another first")
    file.write_text(changed)
    scored = in_process(capsys, "evaluate", str(file), *OWN)
    assert f"was changed since it was round {best['candidate']} of search" in scored.err
    ranked = sorted(
        (one for one in rounds if one["told"] is not None),
        key=lambda one: (-float(str(one["told"])), int(str(one["candidate"]))),
    )
    assert len(ranked) > 6
    others = [one for one in ranked[:6] if one["candidate"] not in (0, best["candidate"])]
    (Path(first["folder"]) / str(others[0]["file"])).write_bytes(b"flowchart TD\n    \xe4[x]\n")
    second = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--from", first["search"], "--seed", "7")
    assert second.code == 0, second.err
    assert f"{file.name} was changed by hand: it is a new candidate" in second.err
    assert second.err.count("was changed by hand") == 1  # Of a file that can't be read, what the search knows is taken.
    lines = events(in_process(capsys, "show", newest()["search"], "--format", "json").out)
    given = [one for one in lines if one["event"] == "candidate" and one["operator"] == "given"]
    assert any("changed by hand" in str(one["title"]) for one in given)
    numbers = [int(re.findall(r"round (\d+) of", str(one["title"]))[0]) for one in given]
    assert numbers == [one["candidate"] for one in ranked[:6] if one["candidate"] != 0]
    assert [one["candidate"] for one in lines if one["event"] == "draw"][: len(given) + 1] == list(
        range(len(given) + 1)
    )


@pytest.mark.slow
def test_what_chose_the_candidates_that_it_begins_with_does_not_test_them(
    server: OpenAIServer, capsys: Capture
) -> None:
    data(24)
    assert in_process(capsys, "optimize", "flow.mmd", *OWN, "--small", "--budget-evaluations", "100").code == 0
    again = in_process(capsys, "optimize", "flow.mmd", *OWN, "--from", newest()["search"], "--format", "json")
    assert "chose by items that are held out here" in again.err
    [held] = [line for line in events(again.out) if line["event"] == "held_out"]
    assert (held["p"], held["read_before"]) == (None, 1)


@pytest.mark.slow
def test_a_budget_of_tokens_leaves_enough_for_the_held_out_items(server: OpenAIServer, capsys: Capture) -> None:
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, "--budget-tokens", "12000", "--strategy", "climb")
    assert done.code == 0, done.err
    one = newest()
    assert "tokens is used up, except for what the held-out items need" in one["over"]
    spent = one["usage"]["prompt_tokens"] + one["usage"]["completion_tokens"]
    assert 3000 < spent <= 12_000
    assert one["crown"] == 0 or one["held_out"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["usd", "tokens"])
def test_the_least_budget_that_is_named_is_enough(server: OpenAIServer, capsys: Capture, unit: str) -> None:
    prices(server)
    asked = [*OWN, "--strategy", "random", f"--budget-{unit}"]
    refused = in_process(capsys, "optimize", "flow.mmd", *asked, "0.000001" if unit == "usd" else "1").err
    named = re.search(r"which is about ([\d.,]+) \(--budget", refused)
    assert named, refused
    least = named[1].replace(",", "")
    done = in_process(capsys, "optimize", "flow.mmd", *asked, least)
    assert done.code == 0, done.err
    one = newest()
    usage = one["usage"]
    used = usage["cost_usd"] if unit == "usd" else usage["prompt_tokens"] + usage["completion_tokens"]
    assert used <= float(least)
    assert one["held_out"] is not None or one["crown"] == 0


@pytest.mark.slow
def test_a_budget_of_seconds_ends_it(server: OpenAIServer, capsys: Capture) -> None:
    server.answer = lambda _: Reply("no", delay=0.03)
    for seconds in ("4", "60"):  # A machine that stood still while the start was read is given longer.
        done = in_process(capsys, "optimize", "flow.mmd", *OWN, "--budget-seconds", seconds, "--strategy", "random")
        if done.code == 0:
            break
    assert done.code == 0, done.err
    assert "seconds is over" in newest()["over"]
    assert newest()["status"] == "finished"


@pytest.mark.slow
def test_a_budget_of_seconds_bounds_the_reading_of_the_held_out_items(server: OpenAIServer, capsys: Capture) -> None:
    searched: set[str] = set()

    def slow_at_the_end(request: Received) -> Step:
        step = answer(request)
        item = re.findall(r"\d+", request.body["messages"][-1]["content"])[0]
        if len(searched) < 20:
            searched.add(item)
        return step if item in searched or not isinstance(step, Reply) else Hang()

    server.answer = slow_at_the_end
    for seconds in ("6", "60"):  # A machine too busy to come to the held-out items is given longer.
        done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--strategy", "climb", "--budget-seconds", seconds)
        if "held-out items are not read" in done.err:
            break
    assert done.code == 1, done.err
    assert f"The budget of {seconds} seconds is over. The held-out items are not read to the end." in done.err
    one = newest()
    assert (one["status"], one["held_out"], one["crown"] > 0) == ("stopped", None, True)
    server.answer = answer
    assert in_process(capsys, "resume", one["search"], "--budget-seconds", "600").code == 0
    assert newest()["held_out"] is not None


@pytest.mark.slow
def test_items_that_a_deleted_search_chose_by_are_not_taken_for_unseen(server: OpenAIServer, capsys: Capture) -> None:
    first = [*LIMITED, "--strategy", "climb", "--small"]
    assert in_process(capsys, "optimize", "flow.mmd", *first).code == 0
    chose = newest()["search"]
    more = [*LIMITED, "--strategy", "climb", "--from"]
    assert in_process(capsys, "optimize", "flow.mmd", *more, chose).code == 0
    between = newest()["search"]
    for _ in range(2):
        third = in_process(capsys, "optimize", "flow.mmd", *more, between, "--dry-run")
        assert "chose by items that are held out here, so that there will be no p" in third.out
        merrow("optimizations", "--delete", chose)


@pytest.mark.slow
def test_a_budget_does_not_continue_what_is_over(server: OpenAIServer, capsys: Capture) -> None:
    assert in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--strategy", "random").code == 0
    search = newest()["search"]
    more = in_process(capsys, "resume", search, "--budget-tokens", "10000000")
    assert more.code == 0
    assert f"Begin another one with its best: merrow optimize flow.mmd --from {search}" in more.err
    less = in_process(capsys, "resume", search, "--budget-tokens", "9")
    assert (less.code, less.out) == (2, "")
    assert "tokens already; give a greater --budget-tokens." in less.err
    assert "is over" not in in_process(capsys, "resume", search).err


@pytest.mark.slow
@posix
def test_what_moves_is_not_on_standard_output(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("no", delay=0.01)
    prices(server)
    terminal, its_end = os.openpty()
    limits = (*LIMITED, "--budget-usd", "2.5", "--budget-tokens", "1000000")
    command = [sys.executable, "-m", "merrow_server", "optimize", "flow.mmd", *limits, "--strategy", "random"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=its_end, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    ) as one:
        os.close(its_end)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says so that nobody has the other end any more.
            while more := os.read(terminal, 4096):
                shown += more
        os.close(terminal)
        out, _ = one.communicate(timeout=PATIENCE)
    assert one.returncode == 0
    assert re.search(
        rb"\d+ of 120 answers, best round \d+ at 0\.000, .*\$0\.\d+ of \$2\.5, [\d,]+ of 1,000,000 tokens", shown
    )
    assert b"The budget of 120 answers is used up" in out
    assert b"\x1b[" not in out
    assert b" answers, best round " not in out


@pytest.mark.slow
def test_a_report_that_can_not_be_written_loses_nothing_else(server: OpenAIServer, capsys: Capture) -> None:
    def laying(request: Received) -> Step:
        Path("found/report.html").mkdir(parents=True, exist_ok=True)
        return answer(request)

    server.answer = laying
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, "--strategy", "random", "--out", "found")
    assert done.code == 0, done.err
    elsewhere = f"Write the report elsewhere with: merrow show {newest()['search']} --format html -o FILE\n"
    assert f"found/report.html can't be written: it is a folder. {elsewhere}" in done.err
    assert "Its report: " not in done.err
    assert "The budget of 120 answers is used up" in done.out
    assert newest()["status"] == "finished"
    assert in_process(capsys, "show", newest()["search"], "--format", "html", "-o", "page.html").code == 0
    assert "Search for a better flow.mmd" in Path("page.html").read_text(encoding="utf-8")
