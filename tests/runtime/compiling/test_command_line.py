"""The command line of a compiled program: what it takes, whom it asks, what it prints, and each refusal in its sentence."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from tests.runtime.compiling.programs import Done, run_program
from tests.runtime.engine.fakes import flowchart
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving

from merrow_runtime import check_workflow
from merrow_runtime.compiling.compiler import compile_workflow

LINES = (
    "STYLE@{shape: stadium, type: Text, default: plain}", "class STYLE Interface",
    'A@{op: Custom, prompt: "first"}', "PROBLEM -->|input| A", "STYLE -->|input| A", "A --> RETURN",
)  # fmt: skip
TWO = ("OTHER([Other]):::Interface", 'B@{op: Custom, prompt: "second"}', "A -->|input| B", "B --> OTHER")


def program(*lines: str, front: str = "{inputs: [PROBLEM, STYLE]}", title: str = "") -> str:
    text = flowchart(*(lines or LINES), front=front).replace("---\n", f"---\n{title}", 1)
    return compile_workflow(check_workflow(text, name="flow.mmd"))


def run(*arguments: str, text: str | None = None, terminal: bool = False) -> Done:
    return run_program(text or program(), *arguments, terminal=terminal)


def first_word(request: Received) -> Reply:
    """The first line of what is asked, and how many lines there are."""
    lines = request.prompt.split("\n")
    return Reply(f"{lines[0]}, {len(lines)} lines", usage={"prompt_tokens": 7, "completion_tokens": 3})


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", " sk-test ")
    with serving(first_word) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def sent(server: OpenAIServer) -> list[Received]:
    """What was asked since the last time."""
    found = list(server.requests)
    server.requests.clear()
    return found


def refusal(*arguments: str, text: str | None = None) -> str:
    """The sentence that a misused program ends with."""
    done = run(*arguments, text=text)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("program.py: ")
    assert done.err.endswith("\n")
    return done.err[len("program.py: ") : -1]


X = ("--input", "problem=x")
NO_MODEL = (
    "There is no model to ask: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own; or answer from a recording "
    "with --replay FILE."
)


def test_what_is_typed_goes_to_the_model_that_is_typed(server: OpenAIServer) -> None:
    assert run(*X) == (0, "first, 12 lines\n", "")
    assert run("--input", " STYLE = bold\nand=red", *X, "--model", "m-2", "--concurrency", "1") == (
        0,
        "first, 13 lines\n",
        "",
    )
    first, second = sent(server)
    assert first.path == "/v1/chat/completions"
    assert (first.body["model"], second.body["model"]) == ("gpt-4o-mini", "m-2")
    assert first.headers["authorization"] == "Bearer sk-test"
    assert [one.body["messages"][1]["content"] for one in (first, second)] == [
        f"## Input 1 of 2: PROBLEM\n```\nx\n```\n\n## Input 2 of 2: STYLE\n```\n{style}\n```"
        for style in ("plain", " bold\nand=red")
    ]


def test_an_input_with_a_default_is_named_in_any_case(server: OpenAIServer) -> None:
    for name in ("style", "STYLE", "Style"):
        assert run(*X, "--input", f"{name}=bold").code == 0
    assert [one.prompt.count("bold") for one in sent(server)] == [1, 1, 1]
    assert refusal(*X, "--input", "style=bold", "--input", "STYLE=plain") == "The input STYLE is given twice."


def test_the_workflows_model_and_that_of_a_node(server: OpenAIServer) -> None:
    text = program(
        *LINES[:2], 'A@{op: Custom, prompt: "first", model: own}', *LINES[3:], *TWO,
        front="{model: m-1, inputs: [PROBLEM, STYLE], outputs: [RETURN, OTHER]}",
    )  # fmt: skip
    assert run(*X, text=text) == (0, "first, 12 lines\nsecond, 2 lines\n", "RETURN\nOTHER\n")
    assert run(*X, "--model", "m-2", text=text).code == 0
    assert [one.body["model"] for one in sent(server)] == ["own", "m-1", "own", "m-2"]


def test_values_are_read_from_files_and_from_standard_input(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("with mark.txt").write_bytes("\ufeffé of a file\n".encode())
    Path("@x").write_text("never read")
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO("é typed".encode()), "latin-1"))
    for value in ("@with mark.txt", "@-", "@@x", "x@x", ""):
        assert run("--input", f"problem={value}").code == 0
    found = [re.findall(r"PROBLEM\n```\n(.*?)```", one.prompt, re.DOTALL) for one in sent(server)]
    assert found[:4] == [["é of a file\n\n"], ["é typed\n"], ["@x\n"], ["x@x\n"]]


def test_a_value_that_can_not_be_taken_is_refused_in_a_sentence(server: OpenAIServer) -> None:
    Path("half.txt").write_bytes(b"caf\xe9")
    with Path("large.txt").open("wb") as file:
        file.truncate(50_000_001)
    assert [
        refusal("--input", said) for said in ("problem", "=x", " =x", "problem=@gone.txt", "problem=@half.txt")
    ] == [
        "--input 'problem' lacks its value; write --input NAME=VALUE or --input NAME=@file.",
        "--input '=x' lacks its value; write --input NAME=VALUE or --input NAME=@file.",
        "--input ' =x' lacks its value; write --input NAME=VALUE or --input NAME=@file.",
        "gone.txt can't be read: No such file or directory.",
        "half.txt is not UTF-8; save it as UTF-8.",
    ]
    assert refusal("--input", "problem=@large.txt") == "large.txt is too large: at most 50 MB are read."
    with Path("large.txt").open("wb") as file:
        file.truncate(50_000_000)
    assert refusal("--input", "problem=@large.txt", "--input", "other=x") == (
        "The workflow has no input other. Its inputs are: PROBLEM, STYLE."
    )
    assert refusal(*X, *X) == "--input problem is given twice."
    assert refusal(*X, "--input", "PROBLEM=x") == "The input PROBLEM is given twice."
    assert refusal() == "The input PROBLEM has no value; give it one with: --input problem=..."
    assert refusal("--input", "pro\x1bblem\t\x7f=x") == (
        "The workflow has no input pro\\x1bblem\t\\x7f. Did you mean PROBLEM?"
    )
    assert refusal(*X, "--record", "a", "--replay", "a") == "--record and --replay can't name the same file."
    assert refusal(*X, "--replay", "gone.jsonl").startswith("The recording gone.jsonl can't be read")
    assert refusal(*X, "--record", "no/a.jsonl") == (
        "The recording no/a.jsonl can't be written (No such file or directory)."
    )
    assert not Path("a").exists()
    assert sent(server) == []


def test_azure_is_asked_as_a_run_asks_it(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("AZURE_OPENAI_ENDPOINT", server.origin),
        ("AZURE_OPENAI_API_KEY", "azures"),
        ("OPENAI_API_VERSION", "2024-10-21"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert run(*X, "--base-url", f"{server.base_url}").code == 0
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert run(*X, "--model", "four").code == 0
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url.replace("127.0.0.1", "localhost"))
    assert run(*X).code == 0
    found = [(one.path, one.headers.get("api-key"), one.headers.get("authorization")) for one in sent(server)]
    assert found == [
        ("/v1/chat/completions", None, "Bearer azures"),
        ("/openai/deployments/four/chat/completions?api-version=2024-10-21", "azures", None),
        ("/v1/chat/completions", None, None),
    ]


def test_a_key_goes_where_the_environment_means_it_to_go(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    assert run(*X).code == 0
    assert run(*X, "--base-url", server.base_url).code == 0
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert run(*X, "--base-url", server.base_url).code == 0
    monkeypatch.setenv("OPENAI_BASE_URL", " ")
    assert run(*X, "--base-url", server.base_url).code == 0
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert run(*X, "--base-url", server.base_url).code == 0
    found = [(one.headers.get("authorization"), one.headers.get("openai-organization")) for one in sent(server)]
    assert found == [
        ("Bearer sk-test", "org-1"), ("Bearer sk-test", "org-1"), ("Bearer sk-test", None), ("Bearer sk-test", None),
        (None, None),
    ]  # fmt: skip
    assert refusal(*X) == NO_MODEL
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert refusal(*X) == NO_MODEL
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    wrong = "is not an address such as `https://host/v1`; correct it where it is set."
    assert refusal(*X) == f"The OPENAI_BASE_URL {wrong}"
    assert run(*X, "--base-url", server.base_url).code == 0
    assert [one.headers.get("authorization") for one in sent(server)] == [None]
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("HTTPS_PROXY", server.base_url.removesuffix("/v1"))
    monkeypatch.setenv("NO_PROXY", "")
    failed = run(*X, text=program(*LINES[:2], 'A@{op: Custom, prompt: "first", retries: 0}', *LINES[3:]))
    assert (failed.code, failed.out) == (1, "")
    assert "https://api.openai.com" in failed.err


def test_calls_are_recorded_and_answered_from_the_recording(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    text = program(*LINES, *TWO, front="{inputs: [PROBLEM, STYLE], outputs: [RETURN, OTHER], budget: {tokens: 100}}")
    Path("calls.jsonl").write_text("what was there")
    assert run("--input", "problm=x", "--record", "calls.jsonl", text=text).code == 2
    assert Path("calls.jsonl").read_text() == "what was there"
    asked = run(*X, "--record", "calls.jsonl", "--seed", "7", text=text)
    assert asked == (0, "first, 12 lines\nsecond, 2 lines\n", "RETURN\nOTHER\n")
    head, *calls = map(json.loads, Path("calls.jsonl").read_text().splitlines())
    assert head == {"merrow_recording": 1, "workflow": "flow.mmd", "seed": 7, "model": "gpt-4o-mini"}
    assert [(one["node"], one["result"]["text"]) for one in calls] == [
        ("A", "first, 12 lines"),
        ("B", "second, 2 lines"),
    ]
    assert len(sent(server)) == 2
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert run(*X, "--replay", "calls.jsonl", "--record", "again.jsonl", text=text) == asked
    again = list(map(json.loads, Path("again.jsonl").read_text().splitlines()))
    assert again[0] == {"merrow_recording": 1, "workflow": "flow.mmd", "seed": 0, "model": "gpt-4o-mini"}
    assert [(one["node"], one["result"]["text"]) for one in again[1:]] == [
        ("A", "first, 12 lines"),
        ("B", "second, 2 lines"),
    ]
    assert sent(server) == []
    gc.collect()
    assert [one for one in recwarn if issubclass(one.category, ResourceWarning)] == []  # of what was left open


def test_a_budget_of_the_workflow_or_of_the_command_line_ends_it(server: OpenAIServer) -> None:
    used = {"prompt_tokens": 400, "completion_tokens": 100}
    server.answer = lambda request: replace(first_word(request), usage=used)
    for front, typed, limit in (
        ("", [], None),
        ("budget: {tokens: 500}", [], 500),
        ("budget: {tokens: 900}", [], None),
        ("budget: {tokens: 500}", ["--budget-tokens", "900"], None),
        ("budget: {tokens: 900}", ["--budget-tokens", "499"], 499),
        ("budget: {seconds: 500}", ["--budget-tokens", "500"], 500),
    ):
        lines = (*LINES[:-1], 'B@{op: Custom, prompt: "second"}', "A -->|input| B --> RETURN")
        text = program(*lines, front=f"{{inputs: [PROBLEM, STYLE]{front and ', ' + front}}}")
        done = run(*X, *typed, text=text)
        over = f"The budget of {limit} tokens is used up (500 used): raise it with --budget-tokens."
        ended = (0, "second, 2 lines\n", "") if limit is None else (1, "", f"program.py: Node B: {over}\n")
        assert done == ended, (front, typed)
        assert len(sent(server)) == (2 if limit is None else 1)
    money = program(front="{inputs: [PROBLEM, STYLE], budget: {usd: 1}}")
    assert run(*X, "--record", "calls.jsonl").code == 0
    refused = run(*X, text=money)
    assert (refused.code, refused.out, len(sent(server))) == (2, "", 1)
    assert "price" in refused.err  # and what answers from a recording costs nothing
    assert run(*X, "--replay", "calls.jsonl", text=money) == (0, "first, 12 lines\n", "")
    over = (1, "", "program.py: The time that the budget allows is over: raise it with --budget-seconds.\n")
    assert run(*X, "--budget-seconds", "0") == over
    slow = program(front="{inputs: [PROBLEM, STYLE], budget: {seconds: 0.01}}")
    server.answer = lambda _: Reply("late", delay=60)
    late = run(*X, text=slow)  # Its node or the run as a whole notices first.
    assert (late.code, late.out, late.err.endswith(" is over: raise it with --budget-seconds.\n")) == (1, "", True)
    server.answer = first_word
    assert run(*X, "--budget-seconds", "600", text=slow) == (0, "first, 12 lines\n", "")


MAPPED = (
    'LIST@{op: Custom, prompt: "list", returns: "list[Text]"}', 'subgraph ITEMS["Map ()"]',
    'A@{op: Custom, prompt: "each"}', "end", "ALL@{op: Assemble, how: concat}", "PROBLEM -->|input| LIST",
    "LIST -->|each:input| A", "A --> ALL --> RETURN",
)  # fmt: skip


def test_so_many_calls_are_made_at_the_same_time_as_is_typed(server: OpenAIServer) -> None:
    server.answer = lambda request: Reply('["a", "b", "c"]' if request.prompt.startswith("list") else "said")
    text = program(*MAPPED, front="{model: m}")
    for typed in (["--concurrency", "1"], []):
        done = run(*X, *typed, text=text)
        assert (done.code, done.out.count("said"), len(sent(server))) == (0, 3, 4)
        assert not typed or server.most_at_once == 1


def test_what_is_printed_drives_no_terminal(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("a\x1b[1mb\tc\u2028é\nd")
    assert run(*X) == (0, "a\x1b[1mb\tc\u2028é\nd\n", "")
    assert run(*X, terminal=True) == (0, "a\\x1b[1mb\tc\\x2028é\nd\n", "")


def test_a_failure_ends_with_one_and_names_its_node(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("I won't.", finish="content_filter")
    done = run(*X)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("program.py: Node A: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_output(server: OpenAIServer, number: signal.Signals) -> None:
    def answer(request: Received) -> Step:
        os.kill(os.getpid(), number)
        return Reply("late", delay=60)

    before = signal.getsignal(number)
    server.answer = answer
    assert run(*X, "--record", "calls.jsonl") == (130, "", "")
    assert len(Path("calls.jsonl").read_text().splitlines()) == 1
    signal.signal(number, before)


OPTIONS = """--input NAME=VALUE An input's value; NAME=@file reads a file.
--model MODEL In place of the workflow's model; nodes that name their own keep it.
--base-url URL The endpoint.
--concurrency N Calls at the same time.
--budget-tokens N Stop once this many tokens are used.
--budget-seconds S Stop after this many seconds.
--record F Write all calls to this file, to replay them.
--replay F Answer all calls from this recording, and from nowhere else.
--again Begin a new run where one with tools was stopped before its end.
--seed SEED Random seed for shuffles.
--sandbox MEANS Sandbox for generated code. Default: the strongest one available.
--allow-unsafe-code Run generated code even if nothing on this machine can isolate it.
--fail-on-exhausted Exit with 1 if a Loop stopped because its turns or its budget ran out.
"""


def test_its_help_says_what_it_was_made_of_and_each_option() -> None:
    done = run("--help", text=program(title="title: A test\n"))
    assert (done.code, done.err) == (0, "")
    about, options = done.out.split("options:\n")
    assert " ".join(options.split()).endswith(" ".join(OPTIONS.split()))
    assert about.partition("\n\n")[2] == (
        "A test\n\nMade by `merrow compile` of flow.mmd.\n\n"
        "It runs as with `merrow run`, but keeps no journal: it can't be resumed, and no answers are cached.\n"
        "--record and --replay write and read the same recordings.\n\n"
    )
    abbreviated = run("--inp", "problem=x")
    assert abbreviated.code == 2
    assert abbreviated.err.endswith("program.py: error: unrecognized arguments: --inp problem=x\n")


def test_an_error_in_an_edited_program_is_at_a_line_of_the_program() -> None:
    """Nobody has seen the file of Mermaid that it is checked as, nor draws arrows."""
    lines = program().splitlines()
    [number] = [number for number, line in enumerate(lines) if 'flow("A"' in line]
    lines[number] = lines[number].replace("input=", "wrong=")
    said = refusal("--input", "PROBLEM=x", text="\n".join(lines))
    assert f"at node A (line {number + 1}): A (Custom) has no port `wrong`" in said
    lines[number] = lines[number].replace("wrong=", "solution=")
    starved = "\n".join(lines).replace('"operator": "Custom"', '"operator": "Test"')
    said = refusal("--input", "PROBLEM=x", text=starved)
    assert f"A (line {number + 1})" in said
    assert "-->" not in said
