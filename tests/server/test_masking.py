"""Masking and refinement from the command line: a run, and evaluations without and with a model that makes lost results again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write
from tests.server.searching import FLOW, data, place

DATA = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains", "--limit", "4")
AGAIN = {"reason": "It was lost.", "changes": [{"do": "redo", "id": "A"}]}


def answer(request: Received) -> Step:
    """Yes where nothing was lost; the reviser has A made again once."""
    messages = request.body["messages"]
    if messages[0]["content"].startswith("You look after"):
        asked = messages[1]["content"]
        return Reply(json.dumps(AGAIN if '"result": "none"' in asked else {}))
    return Reply("no" if "none" in messages[-1]["content"] else "yes")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        yield server


def test_a_masked_run(server: OpenAIServer) -> None:
    write("flow.mmd", FLOW)
    run = ("run", "flow.mmd", "--input", "problem=x", "--mask", "1", "--mask-only", "A")
    done = merrow(*run, "--json")
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [one["node"] for one in told if one.get("masked")] == ["A"]
    assert "with probability 1 a result of A is passed on as `none`" in told[0]["notices"][-1]
    assert told[-1]["outputs"] == {"RETURN": "no"}
    shown = merrow("show", "--node", "A")
    assert "\nmasked: what it was answered is in its calls, and was not passed on\n" in shown.out
    (row,) = [line for line in merrow("show").out.splitlines() if line.startswith("A ")]
    assert row.endswith("  masked")
    assert "yes" in shown.out
    assert "none" in shown.out
    assert next(one for one in merrow("show", "--format", "json").json["nodes"] if one["node"] == "A")["masked"]
    refined = merrow(*run, "--refine", "--refine-every", "1")
    assert (refined.code, refined.out) == (0, "yes\n")
    assert merrow("run", "flow.mmd", "--input", "problem=x", "--mask-only", "A").code == 2


def test_without_and_with_refinement_beside_the_closed_form(server: OpenAIServer) -> None:
    data(4)
    asked = (
        "evaluate",
        "flow.mmd",
        *DATA,
        "--mask",
        "1",
        "--mask-only",
        "A",
        "--refine",
        "both",
        "--refine-every",
        "1",
    )
    done = merrow(*asked, "--format", "json")
    assert done.code == 0, done.err
    without, refined = done.json["cells"]
    assert [(one["refine"], one["score"]) for one in (without, refined)] == [(False, 0.0), (True, 1.0)]
    assert without["masking"] == {
        "rate": 1.0, "only": ["A"], "every": False, "refine": False, "nodes": 1, "redone": 0, "expected": 0.0,
    }  # fmt: skip
    assert (refined["masking"]["redone"], refined["masking"]["expected"]) == (None, 1.0)
    # The reviser's questions are paid and counted.
    assert refined["usage"]["calls"] > without["usage"]["calls"]
    before = len(server.requests)
    text = merrow(*asked)
    assert len(server.requests) == before
    assert "REFINED" in text.out
    names = [line for line in text.err.splitlines() if line.startswith("flow.mmd")]
    assert names == ["flow.mmd, without refinement", "flow.mmd, with refinement"]
    assert "(1 - 1)^1 = 0.000" in text.out
    assert "(1 - 0)^1 = 1.000" in text.out
    assert "website 46 and 87 %, gobang 0 and 93 %, slides 67 and 93 %" in text.out
    single = merrow("evaluate", "flow.mmd", *DATA, "--mask", "1", "--mask-only", "A")
    assert "was passed on as `none` with probability 1, without refinement" in single.out
    # What is masked is not what the workflow is worth.
    plain = merrow("evaluate", "flow.mmd", *DATA, "--format", "json")
    assert plain.json["score"] == 1.0
    assert "masking" not in plain.json


def test_what_the_front_matter_refines_is_refined_in_evaluations_also_where_a_person_would_be_asked(
    server: OpenAIServer,
) -> None:
    data(4)
    write("flow.mmd", FLOW.replace("model: m-1", "model: m-1, refine: {every: 1, ask: true}"))
    done = merrow("evaluate", "flow.mmd", *DATA, "--mask", "1", "--mask-only", "A", "--format", "json")
    assert (done.json["score"], done.json["masking"]["refine"]) == (1.0, True)
    off = merrow(
        "evaluate", "flow.mmd", *DATA, "--mask", "1", "--mask-only", "A", "--refine", "off", "--format", "json"
    )
    assert off.json["score"] == 0.0


def test_cases_are_refined(server: OpenAIServer) -> None:
    write("flow.mmd", FLOW.replace("model: m-1", "model: m-1, refine: {every: 1}"))
    write("flow.cases.yaml", "cases:\n  - id: one\n    inputs: {problem: x}\n    expect: {contains: yes}\n")
    done = merrow("test", "flow.mmd")
    assert done.code == 0, done.out + done.err
    assert sum(one.body["messages"][0]["content"].startswith("You look after") for one in server.requests) == 1


def test_an_evaluation_of_a_refined_workflow_is_resumed(server: OpenAIServer) -> None:
    data(4)
    asked = (*DATA, "--mask", "0.5", "--mask-every", "--refine", "on", "--refine-every", "1", "--repeat", "2")
    stopped = merrow("evaluate", "flow.mmd", *asked, "--budget-tokens", "400", "--format", "json")
    assert stopped.code == 1
    identity = merrow("evaluations", "--format", "json").json[0]["evaluation"]
    resumed = merrow("resume", identity, "--budget-tokens", "1000000")
    assert resumed.code == 0, resumed.err
    shown = merrow("show", identity, "--format", "json").json
    again = merrow("evaluate", "flow.mmd", *asked, "--fresh", "--format", "json").json
    assert shown["score"] == again["score"]
    assert shown["masking"] == again["masking"]
