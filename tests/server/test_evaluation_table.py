"""Tables of evaluations: memories, models, several workflows; and searches that begin with a library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write
from tests.server.searching import FLOW, data, place

from merrow_optimizer.evaluation.statistics.paired import holm

DATA = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains", "--limit", "6")
LIBRARY = (
    "operators:\n  Look:\n    inputs: {problem: Problem}\n    outputs: {answer: Answer}\n    prompt: Look at it.\n"
)


def answer(request: Received) -> Step:
    """Yes where more than one thing was said before, or the model is good."""
    text = json.dumps(request.body["messages"])
    said = "yes" if "memory" in text.lower() or "good" in request.body["model"] else "no"
    return Reply(f"{said} {len(text)}")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        yield server


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


def test_workflows_by_models(server: OpenAIServer) -> None:
    write("other.mmd", FLOW.replace("second", "third").replace("A@{op: Custom", "A@{model: own, op: Custom"))
    done = merrow("evaluate", "flow.mmd", "other.mmd", *DATA, "--models", "good,bad")
    assert done.code == 0, done.err
    assert [line.split()[:1] for line in done.out.splitlines()[1:5]] == [["flow.mmd"]] * 2 + [["other.mmd"]] * 2
    names = [f"{file}.mmd, {model}" for file in ("flow", "other") for model in ("good", "bad")]
    assert [line for line in done.err.splitlines() if line.startswith(("flow", "other"))] == names
    assert "and p by Holm's method for several tests" in done.out
    assert done.out.count("p = 0.094") == 2  # three times that of all six items turned
    models = {one.body["model"] for one in server.requests}
    assert models == {"good", "bad", "own"}
    server.requests.clear()
    assert merrow("evaluate", "other.mmd", *DATA, "--models", "best", "--override-models").code == 0
    assert {one.body["model"] for one in server.requests} == {"best"}


@pytest.mark.parametrize("memory", ["some", "last", "last:0", "tokens:x", ","])
def test_memories_that_there_are_not(server: OpenAIServer, memory: str) -> None:
    refused = merrow("evaluate", "flow.mmd", *DATA, "--memory", memory)
    assert refused.code == 2
    assert server.requests == []


def test_a_table_has_no_gates(server: OpenAIServer) -> None:
    assert merrow("evaluate", "flow.mmd", *DATA, "--memory", "all", "--fail-under", "0.5").code == 2
    assert merrow("evaluate", "flow.mmd", *DATA, "--models", "a", "--model", "b").code == 2


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
