"""Rounds of the published loops with a model that proposes, scripted on loopback: good, invalid, repeated and hostile answers."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.optimizer.suggestions.scripted import candidate, is_judging, listed, prompt, said, setting, verdicts, whole
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import in_process, merrow, write
from tests.server.searching import FLOW, OWN, answer, begun, newest, optimize, place
from tests.server.test_search_killed import drawn

from merrow_analysis.check import analyse

Capture = pytest.CaptureFixture[str]
MODELS = ("--optimizer-model", "opt", "--judge-model", "judge", "--proposer", "model")
EVOLVE = (*OWN, *MODELS, "--strategy", "evolve")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
WARM = FLOW.replace("model: m-1", "model: m-1, temperature: 0.7")
CRITERIA = ("coherence", "innovation", "balance", "prompts", "rationale")


def body(request: Received) -> str:
    """What is asked, as text."""
    return "\n".join(message["content"] for message in request.body["messages"])


def is_again(request: Received) -> bool:
    """Whether it is about a candidate that was refused."""
    return "This is attempt" in request.body["messages"][-1]["content"]


class Rounds:
    """Proposes by the question alone; its judge likes best what says so most often. Answers of items are as in `answer`."""

    def __init__(self) -> None:
        self.propose: Any = four
        self.asked: list[str] = []
        self.judged: list[Received] = []

    def __call__(self, request: Received) -> Step:
        if is_judging(request):
            self.judged.append(request)
            return Reply(verdicts(request, lambda one: min(10, 2 + json.dumps(one).count("well"))), delay=0.001)
        if request.body["model"] == "opt":
            self.asked.append(body(request))
            return Reply(self.propose(request), delay=0.001)
        return answer(request)


def code(request: Received) -> int:
    return crc32(json.dumps(request.body["messages"]).encode())


def four(request: Received) -> str:
    """Two prompts, the second of which the judge likes best, a parameter, and one that can't be; two parents are recombined."""
    number = code(request)
    if is_again(request):
        return said(candidate(prompt(f"Correct it {number} times."), title="Corrected"))
    if "The other parent" in body(request):
        flow = WARM if "temperature: 0.7" in body(request) else FLOW
        return said(whole(flow.replace("first", f"Join {number} well").replace("second", "Join both"), "Both"))
    return said(
        candidate(prompt(f"Think {number} times."), title=f"Think {number}"),
        candidate(prompt(f"Look well, well, {number} times.", "B"), title=f"Look {number}"),
        candidate(setting("samples", 2 + number % 3), title="More samples"),
        candidate({"apply": "nonsense"}, title="Impossible"),
    )


@pytest.fixture
def model() -> Rounds:
    return Rounds()


@pytest.fixture
def server(model: Rounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(model) as server, place(monkeypatch, tmp_path, server):
        yield server


def lines(search: str, event: str) -> list[dict[str, Any]]:
    shown = merrow("show", search, "--format", "json").out.splitlines()
    return [line for line in map(json.loads, shown) if line["event"] == event]


def test_a_round_is_that_of_the_published_loop(server: OpenAIServer, model: Rounds, capsys: Capture) -> None:
    write("flow.mmd", WARM)
    wanted = [
        *EVOLVE,
        "--set",
        "max-rounds=6",
        "--set",
        "crossover=1",
        "--set",
        "crossover-from=5",
        "--set",
        "repeats=2",
        "--set",
        "failures=1",
    ]
    dry = in_process(
        capsys, "optimize", "flow.mmd", *wanted, "--judge-items", "3", "--dry-run", "--format", "json"
    ).json
    assert (dry["proposer"], dry["candidates"], dry["candidate_answers"]) == ("model", {"least": 5, "most": 5}, 32)
    assert dry["proposing"]["questions"] == 5
    assert dry["proposing"]["question"]["calls"]["least"] == 3
    assert not server.requests
    done = in_process(capsys, "optimize", "flow.mmd", *wanted, "--judge-items", "3")
    assert done.code == 0, done.err
    assert "opt proposes 4 candidates in each round, of which judge picks one; 4 items may be shown" in done.err
    assert "All 6 rounds are over (--set max-rounds=N for others)." in done.out
    one = newest()
    candidates, draws = lines(one["search"], "candidate"), lines(one["search"], "draw")
    assert [draw["candidate"] for draw in draws] == list(range(6))
    assert all(len(draw["places"]) == 32 for draw in draws)  # 16 items, twice
    # The one that the judge likes best is scored, with its five criteria, and what it changes by the operator's name.
    single, crossed = candidates[1:4], candidates[4:]
    assert all(found["title"].startswith("Look ") and found["kind"] == "substitution" for found in single)
    assert all(len(found["parents"]) == 2 and found["kind"] == "crossover" for found in crossed)
    assert all(tuple(found["criteria"]) == CRITERIA for found in candidates[1:])
    assert all(found["operator"] == "model" and found["judged"] > 2 for found in candidates[1:])
    # Of four candidates a judge sees those that can be, by the published criteria.
    questions = [request for request in model.judged if len(listed(request)) > 1]
    assert {len(listed(request)) for request in questions} == {4}
    assert all(f"- {name}: " in body(request) for request in model.judged for name in CRITERIA)
    former = [request for request in model.judged if "Former workflows" in body(request)]
    assert former
    assert all("The other parent" in body(request) for request in former)
    # A parent's own experience is shown, and of the items that it gets wrong as many as are wanted, drawn by chance.
    first = [text for text in model.asked if "This is attempt" not in text]
    assert len(first) == 5
    assert "Suggest 4 different candidates, each with exactly one change by one of these operators" in first[0]
    assert "What was tried from this workflow" not in first[0]
    assert max(text.count('"right answer"') for text in first) == 1
    parents = {found["candidate"]: found["parents"] for found in candidates[1:]}
    for round_, text in enumerate(first[1:], 2):
        parent = parents[round_][0]
        tried = [number for number, others in parents.items() if parent in others and number < round_]
        shown = re.search(r"What was tried from this workflow:\n<<<\w+\n(.*)\n", text)
        told = [] if shown is None else [kind for several in json.loads(shown[1]).values() for kind in several]
        assert Counter(one["modification"] for one in told) == Counter(candidates[n]["title"] for n in tried)
    # What the judge's scores are worth is read on held-out items, which chose nothing.
    assert one["proposals"]["judge_held_out"]["pairs"] == 5
    assert "The judge's scores and those on held-out items: " in in_process(capsys, "show", one["search"]).out
    page = in_process(capsys, "show", one["search"], "--format", "html").out
    assert "by model (crossover): Both" in page
    assert re.search(r"A judge gave it [\d.]+ of 10: coherence [\d.]+, innovation [\d.]+, balance ", page)
    assert one["usage"]["calls"] == len(server.requests)
    assert len(set(model.asked)) == len(model.asked)
    assert len(set(map(body, model.judged))) == len(model.judged)


def test_mcts_asks_for_one_change_and_no_judge(server: OpenAIServer, model: Rounds, capsys: Capture) -> None:
    done = in_process(capsys, "optimize", "flow.mmd", *OWN, *MODELS, "--strategy", "mcts", "--set", "max-rounds=5")
    assert done.code == 0, done.err
    found = lines(newest()["search"], "candidate")
    assert [len(one["parents"]) for one in found] == [0, 1, 1, 1, 1]
    assert all("Suggest one candidate, each with exactly one change" in text for text in model.asked)
    assert (len(model.asked), model.judged) == (4, [])
    assert len({one["key"] for one in found}) == 5


def test_where_the_model_is_of_no_use_a_round_is_asked_for_again_and_both_takes_a_safe_move(
    server: OpenAIServer, model: Rounds, capsys: Capture
) -> None:
    model.propose = lambda _: said(whole(FLOW), candidate({"apply": "nonsense"}))
    done = in_process(capsys, "optimize", "flow.mmd", *EVOLVE, "--set", "max-rounds=3")
    assert (done.code, newest()["status"]) == (1, "stopped")
    assert "Nothing that the model proposed can be used" in done.err
    count = len([text for text in model.asked if "This is attempt" not in text])
    assert 1 < count <= 3
    both = [one if one != "model" else "both" for one in EVOLVE]
    assert in_process(capsys, "optimize", "flow.mmd", *both, "--set", "max-rounds=3").code == 0
    assert {one["operator"] for one in lines(newest()["search"], "candidate")} & {"", "model"} == {""}
    stopped = merrow("optimizations", "--format", "json").json[1]["search"]
    model.propose = four
    assert in_process(capsys, "resume", stopped).code == 0
    assert [one["operator"] for one in lines(stopped, "candidate")] == ["", "model", "model"]


TEXTS = st.sampled_from(
    [
        FLOW.replace("first", "better"),
        FLOW.replace("model: m-1", "model: gpt-9000"),
        FLOW.replace("A --> B", "A --> A --> B"),
        FLOW.replace("--> RETURN", "--> GONE"),
        FLOW.replace("RETURN([Answer]):::Interface\n", ""),
        "flowchart TD\n  A --> B",
        "rm -rf /",
        '%%{init: {"x": 1}}%%\n' + FLOW,
        FLOW + '\n    click A href "javascript:alert(1)"\n',
        "\x1b[31m" + FLOW + "\u202e",
        "",
    ]
)
STEPS = st.one_of(
    st.builds(
        prompt, st.sampled_from(["Do it.", "", "yes, it is", "\x1b]0;x\x07", "{problem}"]), st.sampled_from("ABQ")
    ),
    st.builds(setting, st.sampled_from(["samples", "temperature", "model"]), st.sampled_from([-1, 2, 10**9, 0.5])),
    st.builds(lambda name: {"apply": name}, st.text(max_size=4)),
    st.just({"prompt": 3}),
    st.just("nothing"),
)
CANDIDATES = st.one_of(
    st.lists(STEPS, max_size=3).map(
        lambda steps: {"title": "T\x1b[2J", "reason": "r", "moves": steps, "workflow": None}
    ),
    TEXTS.map(whole),
    st.just({"title": 5}),
)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CANDIDATES, max_size=5), min_size=1, max_size=4), st.sampled_from(["evolve", "mcts"]))
def test_no_candidate_is_invalid_whatever_the_model_says(
    server: OpenAIServer, model: Rounds, capsys: Capture, answers: list[list[Any]], strategy: str
) -> None:
    model.propose = lambda request: json.dumps({"candidates": answers[code(request) % len(answers)]})
    wanted = [*OWN, *MODELS[:-1], "both", "--strategy", strategy, "--set", "max-rounds=4", "--set", "repairs=1"]
    done = in_process(capsys, "optimize", "flow.mmd", *wanted)
    assert done.code == 0, done.err
    found = lines(newest()["search"], "candidate")
    assert len(found) == 4
    assert len({one["key"] for one in found}) == 4
    for one in found:
        assert analyse(one["text"]).is_valid
        assert all(unsafe not in one["text"] for unsafe in ("gpt-9000", "javascript", "\x1b", "\u202e", "init:"))
        assert "\x1b" not in one["title"]
    assert "\x1b" not in done.out + done.err


@posix
@pytest.mark.parametrize(("strategy", "jobs"), [("evolve", 1), ("mcts", 1), ("evolve", 3)])
@pytest.mark.thinned(3, "rounds killed anywhere")
def test_killed_anywhere_it_asks_nothing_twice_and_is_the_same_search(
    server: OpenAIServer, model: Rounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, jobs: int
) -> None:
    crossed = ["--set", "crossover=0.5", "--set", "crossover-from=3"] if strategy == "evolve" else []
    wanted = [*OWN, *MODELS, "--strategy", strategy, "--set", "max-rounds=6", *crossed]
    wanted += ["--jobs", str(jobs), "--concurrency", "3"]
    with serving(Rounds()) as other, place(monkeypatch, tmp_path / "whole", other):
        done = optimize(*wanted)
        assert done.code == 0, done.err
        expected, calls = drawn(newest()["search"]), Counter(request.prompt for request in other.requests)
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
    # What was in flight at a kill, or had come and was not committed yet, is asked again.
    assert sum(again.values()) - sum(calls.values()) <= kills * jobs * 5


def test_a_budget_ends_rounds_and_no_call_begins_that_it_may_not_pay(
    server: OpenAIServer, model: Rounds, capsys: Capture
) -> None:
    Path("config").mkdir()
    write("config/config.toml", f'[prices."{server.origin}"."*"]\ninput = 1\noutput = 1\n')
    dry = in_process(capsys, "optimize", "flow.mmd", *EVOLVE, "--dry-run", "--format", "json").json
    assert dry["proposing"]["question"]["cost_usd"]["most"] > dry["proposing"]["question"]["cost_usd"]["least"] > 0
    told = in_process(capsys, "optimize", "flow.mmd", *EVOLVE, "--dry-run").out
    assert re.search(
        r"A question takes 3 to \d+ calls with repairs and the judge, at \$[\d.]+ to \$[\d.]+, at most", told
    )
    endless = ["--set", "max-rounds=1000", "--set", "rounds=1000"]
    done = in_process(capsys, "optimize", "flow.mmd", *EVOLVE, *endless, "--budget-usd", "0.09")
    one = newest()
    assert (done.code, one["status"]) == (0, "finished"), done.err
    assert "is used up" in one["over"]
    assert one["proposals"]["questions"] >= 1
    assert one["usage"]["cost_usd"] <= 0.09
