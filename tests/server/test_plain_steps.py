"""Flowcharts that name no operators on the command line: checked as workflows where asked, run after saying how they are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.runtime.openai_server import OpenAIServer, Reply, serving
from tests.server.program import in_process, write

Capture = pytest.CaptureFixture[str]
DRAWN = """flowchart TD
    A([Mail]) --> B[Read it]
    B --> C{Which team?}
    C -->|billing| D[About the bill]
    C -->|technical| E[About the technique]
"""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


def test_check_reads_any_flowchart_as_a_workflow_where_asked(capsys: Capture) -> None:
    write("flow.mmd", DRAWN)
    assert in_process(capsys, "check", "flow.mmd").out == ""
    outcome = in_process(capsys, "check", "--as-workflow", "--format", "json", "flow.mmd")
    assert outcome.code == 0
    [found] = outcome.json
    assert found["code"] == "MW313"
    assert found["message"] == (
        "B, D and E are each one model call that is asked the text of its box and sees the results of all steps before it. "
        "At C a model is asked which way to take. A is the input. RETURN is the output, though not drawn."
    )
    assert [fix["title"] for fix in found["fixes"]] == ["Write the operators out"]


def test_the_operators_are_written_out(capsys: Capture) -> None:
    path = write("flow.mmd", DRAWN)
    outcome = in_process(
        capsys, "check", "--as-workflow", "--fix", "--unsafe-fixes", "--select", "MW313", "--format", "json", "flow.mmd"
    )
    assert outcome.code == 0
    text = path.read_text("utf-8")
    assert 'C@{ ask: "Which team?", memory: all }' in text
    outcome = in_process(capsys, "check", "--format", "json", "flow.mmd")
    assert outcome.json == []


def test_the_graph_of_any_flowchart(capsys: Capture) -> None:
    write("flow.mmd", DRAWN)
    graph = in_process(capsys, "graph", "flow.mmd").json
    assert graph == in_process(capsys, "graph", "--as-workflow", "flow.mmd").json
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert nodes["B"]["text"] == "Read it"
    assert nodes["C"]["asks"] == "Which team?"
    assert nodes["RETURN"]["implied"] is True
    assert "implied" not in nodes["A"]


def test_a_run_says_how_it_reads_the_flowchart_before_it_runs(server: OpenAIServer, capsys: Capture) -> None:
    write("flow.mmd", DRAWN)
    server.answer = lambda asked: Reply(
        '{"choice": "technical"}' if "Which team?" in str(asked.body) and "choice" in str(asked.body) else "said"
    )
    outcome = in_process(capsys, "run", "flow.mmd", "--base-url", server.base_url, "--input", "A=broken")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "said\n"
    first = outcome.err.splitlines()[0]
    assert first.startswith(
        "Note: flow.mmd names no operators and is read as a workflow. B, D and E are each one model call"
    )


def test_a_dry_run_says_so_too(capsys: Capture) -> None:
    write("flow.mmd", DRAWN)
    outcome = in_process(capsys, "run", "flow.mmd", "--dry-run")
    assert outcome.code == 0
    assert "flow.mmd names no operators and is read as a workflow." in outcome.err
    assert "calls: 3" in outcome.out


def test_what_says_that_it_is_no_workflow_is_not_run(capsys: Capture) -> None:
    write("flow.mmd", f"---\nworkflow: false\n---\n{DRAWN}")
    outcome = in_process(capsys, "run", "flow.mmd", "--dry-run")
    assert outcome.code == 2
    assert "its front matter says `workflow: false`" in outcome.err


@pytest.mark.parametrize("command", [("mutate", "--list"), ("crossover", "flow.mmd")])
def test_mutations_ask_for_written_operators(command: tuple[str, ...], capsys: Capture) -> None:
    write("flow.mmd", f"---\nworkflow: true\n---\n{DRAWN}")
    outcome = in_process(capsys, command[0], "flow.mmd", *command[1:])
    assert outcome.code == 2
    assert "flow.mmd names no operators at some steps, or no inputs and outputs; write them out first" in outcome.err
