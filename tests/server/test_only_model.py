"""A workflow that names no model asks the only one that its endpoint serves; through the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.runtime.workflows import CHAIN
from tests.server.program import in_process, write

from merrow_runtime.models import reach
from merrow_runtime.options import DEFAULT_MODEL

Capture = pytest.CaptureFixture[str]
NAMED = "  model: test-model\n"
UNNAMED = CHAIN.replace(NAMED, "")
CASES = "cases: [{id: a, inputs: {PROBLEM: one}, expect: {contains: one}}]\n"


@pytest.fixture(autouse=True)
def _own_settings() -> None:
    write("flow.mmd", UNNAMED)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        running.models = ("tiny",)
        yield running


def asked(server: OpenAIServer) -> list[str]:
    return [body["model"] for body in server.bodies]


def test_a_run_asks_it_says_so_once_and_reports_it(server: OpenAIServer, capsys: Capture) -> None:
    done = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--json")
    events = [json.loads(line) for line in done.out.splitlines()]
    (started,) = (event for event in events if event["event"] == "run_started")
    assert [notice.count("`tiny`") for notice in started["notices"]] == [1]
    assert asked(server) == ["tiny", "tiny"]
    shown = in_process(capsys, "show", started["run"], "--format", "json").out
    assert "tiny" in shown
    assert DEFAULT_MODEL not in shown


def test_a_dry_run_and_a_forecast_name_it(server: OpenAIServer, capsys: Capture) -> None:
    plan = in_process(capsys, "run", "flow.mmd", "--dry-run", "--json").json
    assert {node["model"] for node in plan["nodes"] if node["model"]} == {"tiny"}
    assert plan["findings"] == []
    assert server.requests == []


@pytest.mark.parametrize(
    ("text", "models", "arguments", "settings", "expected"),
    [
        (CHAIN, ("tiny",), (), "", ["test-model"] * 2),
        (UNNAMED, ("tiny",), ("--model", "mine"), "", ["mine"] * 2),
        (UNNAMED, ("tiny",), (), 'model = "set"\n', ["set"] * 2),
        (UNNAMED, ("a", "b"), (), "", [DEFAULT_MODEL] * 2),
        (UNNAMED, None, (), "", [DEFAULT_MODEL] * 2),
        (UNNAMED.replace("(role: second)", "(role: second, model: own)"), ("tiny",), (), "", ["tiny", "own"]),
    ],
    ids=["the file", "an option", "the settings", "several", "no list", "one node names its own"],
)
def test_what_is_named_takes_precedence(
    server: OpenAIServer,
    capsys: Capture,
    text: str,
    models: tuple[str, ...] | None,
    arguments: tuple[str, ...],
    settings: str,
    expected: list[str],
) -> None:
    write("flow.mmd", text)
    write("config/config.toml", settings)
    server.models = models
    done = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", *arguments)
    assert done.code == 0
    assert asked(server) == expected
    assert ("No model is named" in done.err) == ("tiny" in expected)


def test_a_called_file_that_names_none_asks_it_too(server: OpenAIServer, capsys: Capture) -> None:
    write("inner.mmd", UNNAMED)
    call = "    A@{op: Call, workflow: ./inner.mmd}\n    RETURN([Answer]):::Interface\n    PROBLEM --> A --> RETURN\n"
    write("outer.mmd", f"---\nworkflow:\n{NAMED}---\nflowchart TD\n    PROBLEM([Problem]):::Interface\n{call}")
    done = in_process(capsys, "run", "outer.mmd", "--input", "problem=1")
    assert (done.code, asked(server)) == (0, ["tiny", "tiny"]), done.err


def test_a_resumed_run_keeps_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = [True]

    def answer(request: Received) -> Step:
        is_second = "Shorten" in request.prompt
        return Status(400, "no") if is_second and fails[0] else Reply("one")

    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        server.models = ("tiny",)
        assert in_process(capsys, "run", "flow.mmd", "--input", "problem=1").code == 1
        (run,) = in_process(capsys, "runs", "--format", "json").json
        fails[0], before = False, len(server.requests)
        server.models = ("another",)
        reach._served.clear()  # as in a new process
        assert in_process(capsys, "resume", run["run"], "--record", "run.jsonl").code == 0
        assert asked(server)[before:] == ["tiny"]  # and the first node isn't asked again
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--replay", "run.jsonl").code == 0


def test_a_resumed_run_keeps_the_model_of_the_settings_too(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda request: Status(400, "no") if "Shorten" in request.prompt else Reply("one")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        write("config/config.toml", 'model = "set"\n')
        assert in_process(capsys, "run", "flow.mmd", "--input", "problem=1").code == 1
        (run,) = in_process(capsys, "runs", "--format", "json").json
        server.answer, before = (lambda _: Reply("one")), len(server.requests)
        write("config/config.toml", 'model = "changed"\n')
        assert in_process(capsys, "resume", run["run"]).code == 0
        assert asked(server)[before:] == ["set"]  # the first node isn't paid again for another name


@pytest.mark.parametrize("settings", ["", 'model = "set"\n'])
def test_a_recording_replays_where_the_endpoint_is_gone_and_settings_differ(
    server: OpenAIServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    run = ("run", "flow.mmd", "--input", "problem=1")
    recorded = in_process(capsys, *run, "--record", "run.jsonl")
    monkeypatch.delenv("OPENAI_BASE_URL")
    write("config/config.toml", settings)
    replayed = in_process(capsys, *run, "--replay", "run.jsonl")
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


def test_cases_ask_it_and_their_recording_replays(
    server: OpenAIServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("flow.cases.yaml", CASES)
    assert in_process(capsys, "test", "--record").code == 0
    assert asked(server) == ["tiny", "tiny"]
    monkeypatch.delenv("OPENAI_BASE_URL")
    replayed = in_process(capsys, "test", "--format", "json")
    assert [one["status"] for one in replayed.json["results"]] == ["passed"]


def test_an_evaluation_asks_it(server: OpenAIServer, capsys: Capture) -> None:
    write("data.jsonl", '{"id": "a", "PROBLEM": "one", "answer": "one"}\n')
    done = in_process(
        capsys, "evaluate", "flow.mmd", "--dataset", "data.jsonl", "--metric", "exact", "--gold", "answer"
    )
    assert asked(server) == ["tiny", "tiny"], done.err
    assert "`tiny`" in done.err


@pytest.mark.parametrize("command", [("plan", "Answer letters.", "-n", "1"), ("suggest", "flow.mmd")])
def test_plans_and_suggestions_ask_it(server: OpenAIServer, capsys: Capture, command: tuple[str, ...]) -> None:
    write("config/config.toml", f'[prices."{server.origin}"."*"]\ninput = 0\noutput = 0\n')
    done = in_process(capsys, *command)
    assert set(asked(server)) == {"tiny"}, done.err
