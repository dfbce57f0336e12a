"""Tables of evaluations: memories, models, several workflows; and searches that begin with a library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import in_process, merrow, write
from tests.server.searching import FLOW, data, place

from merrow_optimizer.evaluation.statistics.paired import holm

DATA = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains", "--limit", "6")
LIBRARY = (
    "operators:\n  Look:\n    inputs: {problem: Problem}\n    outputs: {answer: Answer}\n    prompt: Look at it.\n"
)


def answer(request: Received) -> Step:
    """Yes where more than one thing was said before, or the model is good; nothing of a model that is broken."""
    if request.body["model"] == "broken":
        return Status(400)
    text = json.dumps(request.body["messages"])
    if request.body["model"] == "costly":
        return Reply("yes", usage={"prompt_tokens": 2000, "completion_tokens": 1})
    said = "yes" if "memory" in text.lower() or "good" in request.body["model"] else "no"
    return Reply(f"{said} {len(text)}")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        yield server


@pytest.mark.slow
def test_a_row_for_each_memory(server: OpenAIServer) -> None:
    asked = merrow(
        "evaluate", "flow.mmd", *DATA, "--memory", "none,all,last:3,tokens:2000", "--dry-run", "--format", "json"
    )
    assert [one["memory"] for one in asked.json["cells"]] == ["none", "all", "last:3", "tokens:2000"]
    assert server.requests == []
    done = merrow("evaluate", "flow.mmd", *DATA, "--memory", "none,all,last:3,tokens:2000,summary", "--format", "json")
    assert done.code == 0, done.err
    rows = done.json["cells"]
    assert [one["memory"] for one in rows] == ["none", "all", "last:3", "tokens:2000", "summary"]
    assert rows[0]["difference"] is None
    for row in rows[1:]:
        assert row["difference"]["items"] == 6
        assert len(row["difference"]["interval"]) == 2
    ps = [row["difference"]["p"] for row in rows[1:]]
    assert [row["difference"]["p_holm"] for row in rows[1:]] == holm(ps)
    listed = {one["evaluation"] for one in merrow("evaluations", "--format", "json").json}
    assert {one["evaluation"] for one in rows} == listed
    assert rows[1]["usage"]["prompt_tokens"] > rows[0]["usage"]["prompt_tokens"]
    assert Path("flow.mmd").read_text(encoding="utf-8") == FLOW


@pytest.mark.slow
def test_workflows_by_models(server: OpenAIServer) -> None:
    write("other.mmd", FLOW.replace("second", "third").replace("A@{op: Custom", "A@{model: own, op: Custom"))
    done = merrow("evaluate", "flow.mmd", "other.mmd", *DATA, "--models", "good,bad")
    assert done.code == 0, done.err
    assert [line.split()[:1] for line in done.out.splitlines()[1:5]] == [["flow.mmd"]] * 2 + [["other.mmd"]] * 2
    names = [f"{file}.mmd, {model}" for file in ("flow", "other") for model in ("good", "bad")]
    assert [line for line in done.err.splitlines() if line.startswith(("flow", "other"))] == names
    assert "by Holm's method for several tests" in done.out
    assert done.out.count("p = 0.094") == 2  # three times that of all six items turned
    models = {one.body["model"] for one in server.requests}
    assert models == {"good", "bad", "own"}
    server.requests.clear()
    assert merrow("evaluate", "other.mmd", *DATA, "--models", "best", "--override-models").code == 0
    assert {one.body["model"] for one in server.requests} == {"best"}


@pytest.mark.slow
def test_the_whole_of_a_table_is_said(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    write("config/config.toml", f'[prices."{server.origin}"."good"]\ninput = 1000\noutput = 1000\n')
    write("other.mmd", FLOW.replace("second", "third"))
    two = (*DATA[:-1], "2")
    rest = "what is known already costs nothing and is not counted."

    done = in_process(capsys, "evaluate", "flow.mmd", "flow.mmd", *two, "--models", "good, bad,,good,broken")
    assert (done.code, re.sub(r"[0-9a-z]{13}\n", "ID\n", done.out)) == (
        0,
        """\
WORKFLOW  MODEL   MEMORY   SCORE                 DIFFERENCE                          PROMPT TOKENS  COST          EVALUATION
flow.mmd  good    its own  1.000 [0.224, 1.000]                                      13             $0.0190 *     ID
flow.mmd  bad     its own  0.000 [0.000, 0.776]  -1.000 [-1.000, +0.315], p = 0.500  13             cost unknown  ID
flow.mmd  broken  its own  no score                                                  0              $0            ID
Differences are to the first row, on the items that both scored, with 95 % intervals (Tango) and an exact p (McNemar), by \
Holm's method for several tests.
* No other row has a better score for no more money.
""",
    )
    unknown = f"2 items of own.jsonl (part all), each once: 4 calls, at most about 16,456 tokens, cost unknown; {rest}"
    assert done.err.splitlines() == [
        "flow.mmd, good",
        f"2 items of own.jsonl (part all), each once: 4 calls, at most about 16,456 tokens, at most about $16.4560; {rest}",
        "flow.mmd, bad",
        unknown,
        "flow.mmd, broken",
        unknown,
    ]

    # What is known costs nothing, so the cheapest of the same score is the one that asked nobody.
    done = in_process(capsys, "evaluate", "other.mmd", "flow.mmd", *two, "--models", "good", "--memory", "none,all")
    assert re.sub(r"[0-9a-z]{13}\n", "ID\n", done.out).splitlines()[1:5] == [
        "other.mmd  good   none    1.000 [0.224, 1.000]                                      3              $0.0050  ID",
        "other.mmd  good   all     1.000 [0.224, 1.000]  +0.000 [-0.776, +0.776], p = 1.000  98             $0.1020  ID",
        "flow.mmd   good   none    1.000 [0.224, 1.000]  +0.000 [-0.776, +0.776], p = 1.000  0              $0 *     ID",
        "flow.mmd   good   all     1.000 [0.224, 1.000]  +0.000 [-0.776, +0.776], p = 1.000  98             $0.1020  ID",
    ]

    done = in_process(capsys, "evaluate", "flow.mmd", *two, "--models", "broken,good", "--fresh", "--format", "json")
    first, second = done.json["cells"]
    assert first.pop("answer_seconds")["mean"] >= 0
    assert {**first, "evaluation": ""} == {
        "exhausted": 0,
        "workflow": "flow.mmd",
        "model": "broken",
        "memory": None,
        "evaluation": "",
        "score": None,
        "interval": None,
        "counted": 0,
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "calls": 0, "cost_usd": 0.0},
        "difference": None,
        "is_on_front": False,
    }
    assert (second["score"], second["counted"], second["is_on_front"]) == (1.0, 2, True)
    assert second["difference"] == {"better": [], "worse": [], "left_out": 2, "items": 0}


def test_what_a_table_may_cost_is_said_cell_by_cell(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("evaluate", "flow.mmd", *DATA, "--models", "good,bad", "--refine", "both", "--dry-run")
    said = (
        "6 items of own.jsonl (part all), each once: 12 calls, at most about 49,368 tokens, cost unknown; what is known already"
        " costs nothing and is not counted."
    )
    names = [f"flow.mmd, {model}, {how} refinement" for model in ("good", "bad") for how in ("without", "with")]
    done = in_process(capsys, *asked)
    assert done.code == 0
    assert done.out.splitlines() == [*(f"{name}: {said}" for name in names), "No call was made."]
    done = in_process(capsys, *asked, "--format", "json")
    cells = done.json["cells"]
    assert [(one["model"], one["memory"], one["refine"], one["calls"]["most"]) for one in cells] == [
        ("good", None, False, 12.0),
        ("good", None, True, 12.0),
        ("bad", None, False, 12.0),
        ("bad", None, True, 12.0),
    ]
    assert all((one["workflow"], one["items"], one["cost_usd"]["most"]) == ("flow.mmd", 6, None) for one in cells)
    done = in_process(capsys, "evaluate", "flow.mmd", *DATA, "--memory", "all", "--dry-run", "--format", "json")
    assert "refine" not in done.json["cells"][0]
    assert server.requests == []


def test_a_table_refines_as_it_is_asked_to(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(*more: str) -> list[int]:
        """How many calls each row made."""
        every = (
            "evaluate",
            "flow.mmd",
            *DATA[:-1],
            "1",
            "--format",
            "json",
            "--refine-every",
            "1",
            "--refine-max",
            "1",
        )
        done = in_process(capsys, *every, *more)
        assert done.code == 0, done.err
        return [one["usage"]["calls"] for one in done.json["cells"]]

    # Two calls are those of the nodes, which the second row knows; the others are about the workflow.
    assert asked("--models", "good,bad", "--refine", "on") == [6, 6]
    assert asked("--models", "best", "--refine", "both") == [2, 4]
    assert asked("--models", "other,another", "--refine", "off") == [2, 2]


def test_a_table_of_masked_results_says_what_they_may_score(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    masked = ("evaluate", "flow.mmd", *DATA, "--models", "good", "--mask", "0.5")
    done = in_process(capsys, *masked, "--refine", "both")
    lines = done.out.splitlines()
    assert [lines[0].split(), *(re.split(r"  +", line)[:6] for line in lines[1:3])] == [
        [
            "WORKFLOW",
            "MODEL",
            "MEMORY",
            "REFINED",
            "SCORE",
            "EXPECTED",
            "DIFFERENCE",
            "CALLS",
            "SECONDS",
            "TASKS",
            "CHANGED",
            "PROMPT",
            "TOKENS",
            "COST",
            "EVALUATION",
        ],
        ["flow.mmd", "good", "its own", "no", "0.500 [0.147, 0.853]", "(1 - 0.5)^2 = 0.250"],
        ["flow.mmd", "good", "its own", "yes", "0.500 [0.147, 0.853]", "(1 - 0)^2 = 1.000"],
    ]
    explained = [
        "Differences are to the first row, on the items that both scored, with 95 % intervals (Tango) and an exact p (McNemar).",
        "Each result was passed on as `none` with probability 0.5. EXPECTED is the score of a workflow that is right",
        "exactly where nothing masked is left.",
    ]
    assert lines[3:] == [
        explained[0],
        "SECONDS is the mean time of an answer ± its standard deviation.",
        *explained[1:],
        "Published for Flow without and with refinement, at a rate that its paper does not give: website 46 and 87 %,"
        " gobang 0 and 93 %, slides 67 and 93 %.",
        "* No other row has a better score for no more money.",
    ]
    done = in_process(capsys, *masked, "--memory", "none,all", "--model", "best")
    assert done.code == 2
    assert done.err == "merrow: Name models either with --models or with --model.\n"
    done = in_process(capsys, "evaluate", "flow.mmd", *DATA, "--memory", "none,all", "--model", "good", "--mask", "0.5")
    lines = done.out.splitlines()
    heads = " ".join(lines[0].split())
    assert heads == "WORKFLOW MODEL MEMORY SCORE EXPECTED DIFFERENCE PROMPT TOKENS COST EVALUATION"
    assert lines[3:] == [*explained, "* No other row has a better score for no more money."]


def test_a_table_may_have_one_row_and_its_head_alone_is_bold(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = in_process(capsys, "evaluate", "flow.mmd", *DATA, "--models", "good", "--mask", "1")
    head, row, *rest = done.out.splitlines()
    assert head.startswith("\x1b[1mWORKFLOW  MODEL  MEMORY   SCORE ")
    assert row.startswith("flow.mmd  good   its own  0.000 [0.000, 0.393]  (1 - 1)^2 = 0.000 ")
    assert rest[:2] == [
        "Differences are to the first row, on the items that both scored, with 95 % intervals and p.",
        "Each result was passed on as `none` with probability 1. EXPECTED is the score of a workflow that is right",
    ]
    assert done.out.count("\x1b[1m") == 1


def test_a_table_ends_with_the_cell_that_stops(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    flow = FLOW.replace("PROBLEM -->", 'C@{op: Custom, prompt: "third"}\n    PROBLEM --> C -->')
    write("longer.mmd", flow)
    done = in_process(
        capsys,
        "evaluate",
        "longer.mmd",
        "flow.mmd",
        *DATA,
        "--budget-tokens",
        "5000",
        "--concurrency",
        "1",
        "--model",
        "costly",
    )
    assert (done.code, done.out) == (1, "")
    first, forecast, budget, stopped = done.err.splitlines()
    assert first == "longer.mmd"
    assert forecast.startswith("6 items of own.jsonl (part all), each once: 18 calls, ")
    assert budget == ("merrow: The budget of 5000 tokens is used up (6003 used): raise it with --budget-tokens.")
    assert stopped.startswith("Stopped before its end; what is finished is kept. Continue it with: merrow resume ")
    for option in ("--models", "--memory"):
        done = in_process(capsys, "evaluate", "flow.mmd", *DATA, option, " , ")
        assert (done.code, done.out) == (2, "")
        assert done.err == f"merrow: {option} names nothing; write names with commas between them.\n"


def test_a_comparison_is_said_to_the_word(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    write("other.mmd", FLOW.replace("second", "memory"))
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--limit", "4")
    compared = ("evaluate", "--compare", "flow.mmd", "other.mmd", *own, "--metric", "contains")
    forecast = (
        "4 items of own.jsonl (part all), each once: 8 calls, at most about 32,912 tokens, cost unknown; what is known already"
        " costs nothing and is not counted."
    )
    done = in_process(capsys, *compared, "--dry-run")
    assert (done.code, done.err, server.requests) == (0, "", [])
    assert done.out == f"flow.mmd: {forecast}\nother.mmd: {forecast}\nNo call was made.\n"
    done = in_process(capsys, *compared, "--dry-run", "--format", "json")
    assert [(one["workflow"], one["model"], one["memory"]) for one in done.json["cells"]] == [
        ("flow.mmd", None, None),
        ("other.mmd", None, None),
    ]

    done = in_process(capsys, *compared)
    assert (done.code, done.err) == (0, f"{forecast}\n{forecast}\n")
    first, second = (line.split()[0] for line in done.out.splitlines()[:2])
    lines = [
        f"{first}  0.000 [0.000, 0.527] on 4 items  6 calls, S s per answer  flow.mmd",
        f"{second}  1.000 [0.473, 1.000] on 4 items  2 calls, S s per answer  other.mmd",
        f"Difference +1.000 [+0.020, +1.000] (Tango) on 4 items ({second} minus {first}), p = 0.125 (McNemar)",
        "The interval leaves out 0, but the test shows no difference. They are different methods; go by the test, which is"
        " exact.",
        "better on 4: q1, q24, q25, q6",
        "So few items show no difference with probability .8, however large it is.",
    ]
    assert re.sub(r"[0-9.]+ ± [0-9.]+ s", "S s", done.out).splitlines() == lines
    again = in_process(capsys, "evaluate", "--compare", first, second)
    assert (again.code, again.out, again.err) == (0, done.out, "")
    done = in_process(
        capsys, "evaluate", "--compare", second, "flow.mmd", *own, "--metric", "contains", "--format", "json"
    )
    assert done.code == 0, done.err
    told = done.json
    assert (told["before"]["evaluation"], told["before"]["score"], told["after"]["score"]) == (second, 1.0, 0.0)
    assert (told["better"], told["worse"], told["difference"]) == ([], ["q1", "q24", "q25", "q6"], -1.0)

    exact = in_process(capsys, "evaluate", "flow.mmd", *own, "--metric", "exact", "--format", "json").json["evaluation"]
    done = in_process(capsys, "evaluate", "--compare", first, exact)
    assert (done.code, done.err) == (
        0,
        f"Note: Evaluation {first} was scored by contains, and {exact} by exact, so that the difference may be that of the"
        " metrics.\n",
    )
    data(5, "few.jsonl")
    few = in_process(capsys, "evaluate", "flow.mmd", "--dataset", "few.jsonl", *own[2:], "--format", "json").json
    table = ("evaluate", "flow.mmd", *own, "--models", "a")
    name = "Name a workflow and its data: merrow evaluate FILE --dataset F."
    for arguments, sentence in (
        (("evaluate",), name),
        (("evaluate", "flow.mmd"), name),
        (compared[:4], "To compare the workflow flow.mmd, name the data: --dataset F."),
        (
            ("evaluate", "flow.mmd", *compared[1:]),
            "--compare takes two evaluations or workflows, and no FILE beside them.",
        ),
        (
            (*compared, "--fail-under", "1"),
            "--compare has no gates; evaluate the second one with --baseline and the first one's id.",
        ),
        ((*compared, "--format", "csv"), "A comparison is printed as text or json."),
        (
            (*compared, "--models", "a"),
            "A table of evaluations has no gates and no --compare; evaluate one workflow for these.",
        ),
        (
            (*table, "--fail-under", "1"),
            "A table of evaluations has no gates and no --compare; evaluate one workflow for these.",
        ),
        (
            (*table, "--format", "csv"),
            "A table of evaluations is printed as text or json; show each with: merrow show ID",
        ),
        (
            ("evaluate", "flow.mmd", *own, "--max-drop", "1"),
            "--max-drop and --fail-if-worse compare with --baseline EVAL.",
        ),
        (
            ("evaluate", "--compare", first, few["evaluation"]),
            f"Evaluations {first} and {few['evaluation']} are of different data, so their items can't be compared.",
        ),
    ):
        done = in_process(capsys, *arguments)
        assert (done.code, done.out, done.err) == (2, "", f"merrow: {sentence}\n")
    # The first of two that stops ends it.
    done = in_process(capsys, *compared, "--model", "costly", "--budget-tokens", "3000", "--concurrency", "1")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("Stopped before its end") == 1
    assert done.err.count(" items of own.jsonl") == 1


@pytest.mark.parametrize("memory", ["some", "last", "last:0", "tokens:x", ","])
def test_memories_that_there_are_not(server: OpenAIServer, memory: str) -> None:
    refused = merrow("evaluate", "flow.mmd", *DATA, "--memory", memory)
    assert refused.code == 2
    assert server.requests == []


def test_a_table_has_no_gates(server: OpenAIServer) -> None:
    assert merrow("evaluate", "flow.mmd", *DATA, "--memory", "all", "--fail-under", "0.5").code == 2
    assert merrow("evaluate", "flow.mmd", *DATA, "--models", "a", "--model", "b").code == 2


@pytest.mark.slow
def test_a_search_begins_with_the_shapes_of_a_library(server: OpenAIServer) -> None:
    data(40)
    write("lib/operators.yaml", LIBRARY)
    shape = FLOW.replace('A@{op: Custom, prompt: "first"}', "A@{op: Look}").replace(
        "PROBLEM -->", "PROBLEM -->|problem|"
    )
    look = "Look: {inputs: {problem: Problem}, outputs: {answer: Answer}, prompt: Look.}"
    head = f"workflow:\n  model: m-1\n  operators:\n    {look}"
    write("lib/start/1.mmd", shape.replace("workflow: {model: m-1}", head))
    write("lib/start/2.mmd", FLOW)
    own = (*DATA[:6], "--budget-evaluations", "300", "--out", "found")
    done = merrow("optimize", "--operators", "lib/operators.yaml", *own, "--memory", "all", "--format", "json")
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    first = (Path("found") / "round_000.mmd").read_text(encoding="utf-8")
    assert "Look" in first
    assert "memory: all" in first
    titles = [one["title"] for one in events if one["event"] == "candidate"]
    assert "the shape 2.mmd of solved cases" in titles
    other = (Path("found") / "round_001.mmd").read_text(encoding="utf-8")
    assert "Look" in other  # it declares the operators that moves draw on
    assert merrow("optimize", "--operators", "built-in", *own).code == 2
