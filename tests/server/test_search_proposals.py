"""Searches in which a model proposes candidates: scripted on loopback, killed and continued, or of no use."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tests.optimizer.suggestions.scripted import candidate, is_judging, prompt, said, verdicts, whole
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import in_process, merrow, write
from tests.server.searching import FLOW, LIMITED, OWN, answer, begun, newest, optimize, place, record
from tests.server.test_search_killed import drawn

from merrow_optimizer.optimization.record import load
from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import Optimizations
from merrow_server.optimizations.search_words import report_lines

Capture = pytest.CaptureFixture[str]
MODELS = ("--optimizer-model", "opt", "--judge-model", "judge")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def is_asking(request: Received) -> bool:
    """Whether it is a question for candidates."""
    return request.body["model"] == "opt" and not is_judging(request)


class Scripted:
    """Answers questions for candidates with ``propose``, by the question alone; judges; and answers items as `answer` does, but
    always yes where a prompt says MAGIC.
    """

    def __init__(self) -> None:
        self.propose: Any = several
        self.asked: list[str] = []

    def __call__(self, request: Received) -> Step:
        if is_judging(request):
            return Reply(verdicts(request, lambda one: 9 if "MAGIC" in json.dumps(one) else 3), delay=0.001)
        if is_asking(request):
            self.asked.append(json.dumps(request.body["messages"]))
            found = self.propose(request)
            return Reply(found, delay=0.001) if isinstance(found, str) else found
        if "MAGIC" in json.dumps(request.body["messages"]):
            return Reply("yes")
        return answer(request)


def several(request: Received) -> str:
    """Candidates that follow from the question; one of them is never valid."""
    code = crc32(json.dumps(request.body["messages"]).encode())
    return said(
        candidate(prompt(f"Think {code} times."), title="Think\n<b>hard</b>"),
        whole(FLOW.replace("second", f"Look {code} times"), "Look"),
        candidate({"apply": "nonsense"}, title="Impossible"),
    )


def magic(_: Received) -> str:
    return said(candidate(prompt("MAGIC", "B"), title="Magic", reason="It is known."))


@pytest.fixture
def model() -> Scripted:
    return Scripted()


@pytest.fixture
def server(model: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(model) as server, place(monkeypatch, tmp_path, server):
        yield server


def lines(search: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in merrow("show", search, "--format", "json").out.splitlines()]


def test_a_good_proposal_becomes_the_best_and_what_was_shown_scores_nobody(
    server: OpenAIServer, model: Scripted, capsys: Capture
) -> None:
    model.propose = magic
    dry = in_process(capsys, "optimize", "flow.mmd", *LIMITED, *MODELS, "--dry-run", "--format", "json").json
    assert (dry["proposer"], dry["items"], dry["shown_items"], dry["held_out_items"]) == ("both", 16, 4, 10)
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, *MODELS, "--goal", "more of it")
    assert done.code == 0, done.err
    assert "opt proposes candidates, 8 draws apart, which judge judges; 4 items may be shown" in done.err
    one = newest()
    assert (one["proposer"], one["proposals"]["forms"]["moves"]["valid_first"]) == ("both", 1)
    assert one["proposals"]["usage"]["calls"] >= len(model.asked) + 1  # of one candidate both orders are one question
    assert one["usage"]["calls"] == len(server.requests)
    found = lines(one["search"])
    [best] = [line for line in found if line["event"] == "candidate" and line["operator"] == "model"]
    parents = {line["candidate"]: line["parents"] for line in found if line["event"] == "candidate"}
    way = [one["crown"]]
    while parents[way[-1]]:
        way.append(parents[way[-1]][0])
    assert best["candidate"] in way
    assert (best["reason"], best["judged"], best["parents"]) == ("It is known.", 9.0, [0])
    draws = [line for line in found if line["event"] == "draw"]
    assert len(next(draw for draw in draws if draw["candidate"] == best["candidate"])["places"]) == 16
    scored = {item for draw in draws for item, _ in draw["places"]}
    held_out = {row["item"] for line in found if line["event"] == "held_out" for row in line["answers"]["0"]}
    assert (len(scored), len(held_out), scored & held_out) == (16, 10, set())
    shown = {f"q{n}" for text in model.asked for n in re.findall(r"Is (\d+) a number", text)}
    assert shown
    assert shown.isdisjoint(scored | held_out)
    assert all("more of it" in text for text in model.asked)
    text = in_process(capsys, "show", one["search"]).out
    assert re.search(
        r"A model was asked for candidates .* as moves: \d+% valid at the first try, \d+% after repair", text
    )
    page = in_process(capsys, "show", one["search"], "--format", "html").out
    assert "Why the model proposed it: It is known. A judge gave it 9.0 of 10: coherence 9, fit 9, economy 9" in page
    assert "What a judge gave and the score on the items searched with" in page
    assert best["changes"] == ["~ prompt of B: MAGIC"]
    # Whether the judge is worth anything is said as soon as candidates were judged, with an interval from four on.
    with closing(Store.open()) as store:
        whole = load(store, one["search"])
    assert whole.proposals is not None
    assert whole.proposals.failed < whole.proposals.questions
    start = whole.candidates[0]
    for judged, rank in (
        ((1, 2, 3, 4), "rank correlation +1.00 [-0.69, +1.00] of 4 candidates."),
        ((3, 2, 1), "rank correlation -1.00 of 3 candidates, too few for an interval."),
        ((2, 2, 2), "no rank correlation, because one of the two is the same for all 3 candidates."),
        ((1, 2), "2 candidates are too few for a rank correlation."),
    ):
        candidates = [
            replace(start, number=n, criteria={"innovation": j}, scores=[n / 10]) for n, j in enumerate(judged)
        ]
        told = "\n".join(report_lines(replace(whole, candidates=candidates, draws=[], held_out=None), whole=False))
        assert f"on the items searched with, which it did not see: {rank}\n" in told
        assert "--judge-items N reads N of them with each." in told


@posix
@pytest.mark.parametrize(("proposer", "jobs", "evaluations"), [("both", 3, "200"), ("model", 1, "100")])
@pytest.mark.thinned(32, "killed anywhere")
def test_killed_anywhere_it_is_the_same_search(
    server: OpenAIServer,
    model: Scripted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    proposer: str,
    jobs: int,
    evaluations: str,
) -> None:
    wanted = (
        *OWN,
        "--budget-evaluations",
        evaluations,
        *MODELS,
        "--strategy",
        "guided",
        "--proposer",
        proposer,
        "--jobs",
        str(jobs),
        "--concurrency",
        "3",
    )
    with serving(Scripted()) as other, place(monkeypatch, tmp_path / "whole", other):
        done = optimize(*wanted)
        assert done.code == 0, done.err
        expected, calls = drawn(newest()["search"]), Counter(request.prompt for request in other.requests)
        assert newest()["proposals"]["questions"] >= 2
    chance = random.Random(7)
    kills, identity = 4, None
    for kill in range(kills):
        before, asked = len(server.requests), len(model.asked)
        if identity is None:
            process = begun(*wanted)
        else:
            command = [sys.executable, "-m", "merrow_server", "resume", identity]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        stop, end = before + chance.randint(1, max(2, len(calls) // kills)), time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < end:
            if len(server.requests) >= stop or (kill < 2 and len(model.asked) > asked):
                break
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        process.communicate()
        identity = newest()["search"]
    assert identity is not None
    last = merrow("resume", identity)
    assert last.code == 0, last.err
    assert drawn(identity) == expected
    again = Counter(request.prompt for request in server.requests)
    assert again.keys() == calls.keys()
    # Each evaluation is at five items at most, of which three are in flight; what they received last may not be committed yet.
    assert sum(again.values()) - sum(calls.values()) <= kills * jobs * 5


@pytest.mark.slow
def test_the_same_seed_and_answers_give_the_same_search_byte_for_byte(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("one", "two"):
        with place(monkeypatch, tmp_path / name, server):
            done = optimize(*LIMITED, *MODELS, "--jobs", "8")
            assert done.code == 0, done.err
            found.append(record(newest()["search"]))
    assert found[0] == found[1]
    assert '"operator": "model"' in found[0]


@pytest.mark.parametrize("useless", ["prose", "repeats", "invalid", "fails"])
@pytest.mark.thinned(16)
def test_a_model_of_no_use_leaves_the_moves_and_ends_a_search_of_its_own_which_can_go_on(
    server: OpenAIServer, model: Scripted, capsys: Capture, useless: str
) -> None:
    answers = {
        "prose": "I would rather talk about it.",
        "repeats": said(whole(FLOW)),
        "invalid": said(candidate({"apply": "nonsense"}), whole("rm -rf /")),
        "fails": Status(400, "no such model"),
    }
    model.propose = lambda _: answers[useless]
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, *MODELS)
    assert done.code == 0, done.err
    assert done.err.count("A question to the model that proposes brought nothing; the search continues") == 1
    one = newest()
    assert one["status"] == "finished"
    assert one["candidates"] > 3
    assert one["proposals"]["failed"] == one["proposals"]["questions"] >= 1
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, *MODELS, "--strategy", "guided", "--proposer", "model")
    assert done.code == 1
    one = newest()
    assert (one["status"], one["candidates"]) == ("stopped", 1), done.err
    assert one["error"] in done.err
    model.propose = several
    done = in_process(capsys, "resume", one["search"])
    one = newest()
    assert (done.code, one["status"]) == (0, "finished"), done.err
    found = [line["operator"] for line in lines(one["search"]) if line["event"] == "candidate"]
    assert set(found) == {"", "model"}


@pytest.mark.slow
def test_ended_between_an_answer_and_its_keeping_nothing_is_asked_twice(
    server: OpenAIServer, model: Scripted, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFailure("The disk is full.")

    with monkeypatch.context() as here:
        here.setattr(Optimizations, "propose", full)
        done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, *MODELS)
    assert "The disk is full." in done.err
    assert len(model.asked) > 1
    before = len(model.asked)
    found = newest()
    assert found["proposals"]["questions"] == 0
    done = in_process(capsys, "resume", found["search"])
    assert done.code == 0, done.err
    assert len(set(model.asked)) == len(model.asked) == before
    assert max(Counter(json.dumps(request.body["messages"]) for request in server.requests).values()) == 1


@pytest.mark.slow
def test_a_question_ends_with_the_time(server: OpenAIServer, model: Scripted, capsys: Capture) -> None:
    model.propose = lambda _: Hang()
    for seconds in ("4", "60"):  # A machine too busy to come to a question is given longer.
        done = in_process(capsys, "optimize", "flow.mmd", *OWN, *MODELS, "--budget-seconds", seconds)
        if model.asked:
            break
    assert done.code == 0, done.err
    assert f"The budget of {seconds} seconds is over." in done.out
    assert model.asked


@pytest.mark.slow
@posix
def test_a_question_that_was_cut_off_is_paid_put_again_and_nothing_else_changes(
    server: OpenAIServer, model: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place(monkeypatch, tmp_path / "whole", server):
        assert optimize(*OWN, *LIMITED, *MODELS).code == 0
        whole, paid = record(newest()["search"]), newest()["usage"]
    with place(monkeypatch, tmp_path / "cut", server):
        server.answer = lambda request: Hang() if is_judging(request) else model(request)
        running = begun(*OWN, *LIMITED, *MODELS)
        count = len(server.requests)
        deadline = time.monotonic() + PATIENCE
        while not any(map(is_judging, server.requests[count:])) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=PATIENCE) == 130
        cut = newest()
        asked = [one for one in server.requests[count:] if is_asking(one) or is_judging(one)]
        assert cut["proposals"]["usage"]["calls"] == len(asked) > 1
        assert cut["proposals"]["questions"] == 0
        server.answer = model
        assert merrow("resume", cut["search"]).code == 0
        assert newest()["usage"]["calls"] == paid["calls"] + sum(map(is_judging, asked))
        assert _without_usage(record(cut["search"])) == _without_usage(whole)


def _without_usage(shown: str) -> str:
    return re.sub(r'"(usage|spent)": \{[^}]*\}', "", shown)


@pytest.mark.slow
def test_right_answers_get_into_no_prompt(server: OpenAIServer, model: Scripted, capsys: Capture) -> None:
    rows = [{"id": f"q{n}", "problem": f"Is {n} a number?", "answer": f"yes, {n}"} for n in range(30)]
    write("own.jsonl", "".join(json.dumps({**row, "answer": f"zebra{row['id']}"}) + "\n" for row in rows))
    model.propose = lambda _: said(*(candidate(prompt(f"Say zebraq{n}."), title=f"Leak {n}") for n in range(7, 30, 6)))
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, "--budget-evaluations", "100", *MODELS)
    assert done.code == 0, done.err
    assert model.asked
    assert newest()["proposals"]["forms"]["moves"]["never"] > 0
    texts = [line["text"] for line in lines(newest()["search"]) if line["event"] == "candidate"]
    assert len(texts) > 1
    assert not any("zebra" in text for text in texts)


@pytest.mark.slow
def test_titles_are_plain_text_in_files(server: OpenAIServer, capsys: Capture) -> None:
    done = in_process(capsys, "optimize", "flow.mmd", *LIMITED, *MODELS)
    assert done.code == 0, done.err
    folder = Path(newest()["folder"])
    made = [file.read_text() for file in sorted(folder.glob("round_*.mmd")) if "by model: " in file.read_text()]
    assert any("by model: Think <b>hard</b>\n" in text for text in made)
    assert merrow("check", *map(str, folder.glob("round_*.mmd"))).code == 0
    assert "<b>hard" not in (folder / "report.html").read_text()


@pytest.mark.parametrize("strategy", ["climb", "evolve", "mcts", "random"])
@pytest.mark.thinned(16)
def test_both_goes_with_each_strategy(server: OpenAIServer, model: Scripted, capsys: Capture, strategy: str) -> None:
    model.propose = magic
    done = in_process(
        capsys, "optimize", "flow.mmd", *OWN, *MODELS, "--strategy", strategy, "--budget-evaluations", "200"
    )
    assert done.code == 0, done.err
    assert "model" in [line["operator"] for line in lines(newest()["search"]) if line["event"] == "candidate"]


@pytest.mark.slow
def test_money_for_proposals_is_that_of_the_search_and_the_held_out_items_are_read(
    server: OpenAIServer, model: Scripted, capsys: Capture
) -> None:
    Path("config").mkdir()
    write("config/config.toml", f'[models]\noptimizer = "opt"\n[prices."{server.origin}"."*"]\ninput = 1\noutput = 1\n')
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, "--strategy", "guided", "--budget-usd", "0.06")
    assert done.code == 0, done.err
    one = newest()
    assert one["proposer"] == "both"
    assert "is used up, except for what the held-out items need" in one["over"]
    assert one["proposals"]["usage"]["cost_usd"] > 0.01
    assert one["usage"]["cost_usd"] <= 0.06
    assert one["held_out"] is not None or one["crown"] == 0


@pytest.mark.parametrize(("more", "proposer"), [((), "both"), (("--base-url", "offline"), "moves")])
def test_a_model_of_the_users_settings_proposes_unless_the_embedded_one_answers(
    server: OpenAIServer, capsys: Capture, more: tuple[str, ...], proposer: str
) -> None:
    write("config/config.toml", '[models]\noptimizer = "opt"\n')
    dry = in_process(capsys, "optimize", "flow.mmd", *OWN, "--dry-run", "--format", "json", *more)
    assert (dry.code, dry.json["proposer"]) == (0, proposer)
    assert not server.requests


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--proposer", "both", "--base-url", "offline"), "the embedded one can't make any"),
        (("--optimizer-model", "opt", "--base-url", "offline"), "the embedded one can't make any"),
        (
            ("--proposer", "model", "--strategy", "climb"),
            "--proposer model goes with the strategies guided, evolve and mcts",
        ),
        (("--proposer", "moves", "--goal", "x"), "--optimizer-model and --goal go with --proposer model or both"),
        (("--goal", "x"), "--optimizer-model and --goal go with --proposer model or both"),
        (("--optimizer-model", "opt", "--budget-usd", "5", "--model", "m"), "price"),
    ],
)
def test_what_can_not_be_is_refused_before_a_call(
    server: OpenAIServer, capsys: Capture, more: tuple[str, ...], sentence: str
) -> None:
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, *more)
    assert done.code == 2, done.err
    assert sentence in done.err
    assert not server.requests
