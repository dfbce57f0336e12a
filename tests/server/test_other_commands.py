"""``rules``, ``explain``, ``graph``, ``metrics``, and the program itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.patience import PATIENCE
from tests.server.program import GOOD, ONE_VOICE, in_process, markdown, merrow, write
from tests.server.terminal import terminals

from merrow_analysis.rules.registry import all_rules
from merrow_server.cli import COMMANDS, program

Capture = pytest.CaptureFixture[str]


def test_the_program_says_its_version_and_its_commands() -> None:
    assert merrow("--version").out.startswith("merrow ")
    shown = merrow("--help")
    assert shown.code == 0
    assert all(name in shown.out for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_helps_with_an_example(name: str, capsys: Capture) -> None:
    outcome = in_process(capsys, name, "--help")
    assert outcome.code == 0
    assert "Examples:" in outcome.out
    assert f"merrow {name}" in outcome.out


def test_the_program_lists_twelve_commands_first() -> None:
    first, rest = merrow().out.partition("\nCommands:\n")[2].split("\nMore commands:\n")
    named = [line.split()[0] for line in first.splitlines() if re.match(r"  \w", line)]
    assert len(named) == 12
    assert {"check", "run", "evaluate", "optimize"} <= set(named)
    assert all(re.search(rf"^  {name} ", rest, re.MULTILINE) for name in COMMANDS if name not in named)


@pytest.mark.parametrize("name", ["evaluate", "run", "optimize", "resume", "extract", "plan", "suggest", "up", "test"])
def test_help_shows_ten_options_and_all_of_them_on_request(name: str, capsys: Capture) -> None:
    def options(text: str) -> set[str]:
        return set(re.findall(r"^  (?:-\w, )?(--?[\w-]+)(?= |$)", text.partition("\nExamples:")[0], re.MULTILINE))

    command = program.get_command(click.Context(program), name)
    assert command is not None
    every = {max(one.opts, key=len) for one in command.params if isinstance(one, click.Option)} | {"--help"}
    short, whole = options(in_process(capsys, name, "--help").out), options(in_process(capsys, name, "--help-all").out)
    assert len(short - {"--help", "--help-all"}) == 10
    assert whole == every
    assert len(every) > 12
    completed = {one.value for one in command.shell_complete(click.Context(command), "-")}
    assert every <= completed


def test_rules_are_listed_as_text_and_json(capsys: Capture) -> None:
    listed = in_process(capsys, "rules", "--format", "json").json
    assert [rule["code"] for rule in listed] == [rule.code for rule in all_rules()]
    assert set(listed[0]) == {"code", "name", "summary", "severity", "since", "fix"}
    text = in_process(capsys, "rules").out
    assert all(rule.code in text and rule.name in text for rule in all_rules())


def test_a_rule_is_explained_by_code_or_name(capsys: Capture) -> None:
    page = in_process(capsys, "explain", "MW105").out
    assert "expect:" not in page  # what its tests look for
    assert page.startswith("# MW105 ensemble-needs-two-sources\n")
    assert in_process(capsys, "explain", "mw105").out == page
    assert in_process(capsys, "explain", "ensemble-needs-two-sources").out == page
    outcome = in_process(capsys, "explain", "ensemble-needs-two-source")
    assert outcome.code == 2
    assert "Did you mean ensemble-needs-two-sources?" in outcome.err


def test_the_graph_has_operators_ports_and_types(capsys: Capture) -> None:
    write("good.mmd", GOOD)
    outcome = in_process(capsys, "graph", "good.mmd")
    assert outcome.code == 0
    graph = outcome.json
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert nodes["A"]["operator"] == "Custom"
    assert nodes["A"]["outputs"] == [{"name": "response", "type": "Text"}]
    assert nodes["A"]["range"]["start"] == {"line": 2, "character": 4}
    [first, second] = graph["edges"]
    assert (first["source"], first["target"], first["port"], first["type"]) == ("PROBLEM", "A", "input", "Problem")
    assert (second["port"], second["inferred"]) == ("result", True)
    assert graph["order"] == ["PROBLEM", "A", "RETURN"]
    assert (
        "A: Custom -> response: Text\n  <- PROBLEM.value -> input: Problem"
        in in_process(capsys, "graph", "--format", "text", "good.mmd").out
    )


BOXES = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PLAN@{ op: Custom, returns: 'list[Text]' }
    subgraph PARTS["Map (max: 5)"]
        PART["Custom<br/>"]
        subgraph TRIES[A few tries]
            TRY["Custom<br/>"]
            REVIEW["Review<br/>"]
        end
    end
    class TRIES LoopOp
    SUM["Custom<br/>"]
    PROBLEM --> PLAN
    PLAN -->|each| PART
    PART --> TRY
    TRY -->|solution| REVIEW
    PROBLEM -->|problem| REVIEW
    REVIEW -->|again:feedback:input| TRY
    TRY --> SUM
    REVIEW -->|feedback:input| SUM
    SUM --> RETURN
"""


def test_the_graph_has_loops_and_maps_with_what_crosses_them(capsys: Capture) -> None:
    write("boxes.mmd", BOXES)
    graph = in_process(capsys, "graph", "boxes.mmd").json
    assert graph["schema"] == 2
    boxes = [
        {key: box[key] for key in ("id", "operator", "parent", "parameters", "nodes")} for box in graph["composites"]
    ]
    assert boxes == [
        {"id": "PARTS", "operator": "Map", "parent": None, "parameters": {"max": 5}, "nodes": ["PART"]},
        {"id": "TRIES", "operator": "Loop", "parent": "PARTS", "parameters": {}, "nodes": ["TRY", "REVIEW"]},
    ]
    assert graph["composites"][1]["range"]["start"] == {"line": 6, "character": 17}
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert (nodes["TRY"]["composite"], nodes["PART"]["composite"], nodes["SUM"]["composite"]) == (
        "TRIES",
        "PARTS",
        None,
    )
    edges = {(edge["source"], edge["target"]): edge for edge in graph["edges"]}
    each = edges["PLAN", "PART"]
    assert (each["word"], each["lowered"], each["type"], each["entered"]) == ("each", "PARTS", "Text", ["PARTS"])
    out = edges["TRY", "SUM"]
    assert (out["word"], out["raised"], out["type"], out["left"]) == (None, 1, "list[Text]", ["TRIES", "PARTS"])
    again = edges["REVIEW", "TRY"]
    assert (again["word"], again["port"], again["left"], again["entered"]) == ("again", "input", [], [])
    assert graph["edges"].index(again) == 5
    port = next(port for port in nodes["TRY"]["inputs"] if port["name"] == "input")
    assert (port["edges"], port["again"]) == ([2], [5])
    assert graph["order"].index("TRY") < graph["order"].index("REVIEW")
    assert graph["cycles"] == []
    text = in_process(capsys, "graph", "--format", "text", "boxes.mmd").out
    assert "PARTS: Map (max: 5) of PART, TRIES\n" in text
    assert "  <- REVIEW again.feedback -> input: Feedback\n" in text
    assert in_process(capsys, "metrics", "--format", "json", "boxes.mmd").json["calls"] == {"least": 5, "most": 37}
    assert "\ncalls: 5 to 37\n" in in_process(capsys, "metrics", "boxes.mmd").out


def test_the_graph_of_a_block_has_places_of_the_markdown_file(capsys: Capture) -> None:
    write("doc.md", markdown(GOOD, ONE_VOICE))
    graph = in_process(capsys, "graph", "doc.md#1").json
    assert graph["nodes"][0]["range"]["start"] == {"line": 4, "character": 4}
    outcome = in_process(capsys, "graph", "doc.md")
    assert (outcome.code, outcome.err) == (2, "merrow: doc.md has 2 mermaid blocks; name one, such as doc.md#1.\n")


def test_a_graph_with_errors_is_printed_with_code_1(capsys: Capture) -> None:
    write("bad.mmd", ONE_VOICE)
    outcome = in_process(capsys, "graph", "bad.mmd")
    assert outcome.code == 1
    assert outcome.json["errors"] == 1
    assert outcome.err == "merrow: bad.mmd has an error; merrow check bad.mmd shows what is wrong.\n"


def test_metrics_as_text_and_json(capsys: Capture) -> None:
    write("good.mmd", GOOD)
    found = in_process(capsys, "metrics", "--format", "json", "good.mmd").json
    assert found["graph"]["nodes"] == 3
    assert found["workflow"]["nodes"] == 1
    assert not {"simulated", "failures"} & found.keys(), "nobody asked for them"
    assert "critical path (whole graph): PROBLEM -> A -> RETURN" in in_process(capsys, "metrics", "good.mmd").out
    surer = in_process(capsys, "metrics", "--format", "json", "--failure-probability", "0", "good.mmd").json
    assert surer["graph"]["expected_completed"]["product_formula"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("graph", "good.mmd"),
        ("metrics", "good.mmd"),
        ("mutate", "good.mmd", "--random", "1"),
        ("crossover", "good.mmd", "more.mmd"),
        ("repair", "good.mmd"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_settings_files_are_read_unless_they_are_to_be_ignored(arguments: tuple[str, ...], capsys: Capture) -> None:
    write("good.mmd", GOOD)
    write("more.mmd", GOOD.replace("A --> RETURN", "A --> B[Custom]:::CustomOp --> RETURN"))
    write("merrow.toml", b"\0")
    refused = in_process(capsys, *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert "merrow.toml is a binary file" in refused.err
    done = in_process(capsys, *arguments, "--no-config")
    assert (done.code, "merrow.toml" in done.err) == (0, False), done.err
    write("elsewhere/empty.toml", "")
    assert in_process(capsys, *arguments, "--config", "elsewhere/empty.toml").code == 0


@pytest.mark.parametrize("command", ["graph", "metrics"])
@pytest.mark.parametrize("file", [".", "missing.mmd", "no_diagram.md"])
def test_what_is_no_diagram_is_one_sentence(command: str, file: str, capsys: Capture) -> None:
    write("no_diagram.md", "# nothing\n")
    outcome = in_process(capsys, command, file)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1


def test_metrics_of_a_workflow_with_errors_are_printed_with_code_1(capsys: Capture) -> None:
    write("bad.mmd", ONE_VOICE)
    outcome = in_process(capsys, "metrics", "bad.mmd")
    assert (outcome.code, "critical path" in outcome.out) == (1, True)
    assert outcome.err == "merrow: bad.mmd has an error; merrow check bad.mmd shows what is wrong.\n"


def test_that_two_workflows_have_no_child_is_said_with_code_1(capsys: Capture) -> None:
    write("one.mmd", GOOD)
    write("two.mmd", GOOD)
    write("bad.mmd", ONE_VOICE)
    for arguments, sentence in (
        (
            ("one.mmd", "two.mmd"),
            "The two workflows have no child: no cut at which their types match gives a workflow other than these two.",
        ),
        (("one.mmd", "two.mmd", "--all"), "one.mmd and two.mmd have no child."),
        (("one.mmd", "bad.mmd"), "The second workflow has errors; put them right first."),
        (("bad.mmd", "one.mmd", "--all"), "The first workflow has errors; put them right first."),
    ):
        outcome = in_process(capsys, "crossover", *arguments)
        assert (outcome.code, outcome.out, outcome.err) == (1, "", f"merrow: {sentence}\n")


def test_children_are_printed_as_text_and_json(capsys: Capture) -> None:
    write("one.mmd", GOOD)
    write("two.mmd", GOOD.replace("A --> RETURN", "A --> B[Custom]:::CustomOp --> RETURN"))
    text = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: solver)"]:::CustomOp
    RETURN([Answer]):::Interface
    B[Custom]:::CustomOp
    PROBLEM -->|input| A
    A --> B
    B --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""
    done = in_process(capsys, "crossover", "one.mmd", "two.mmd", "--all")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"%% e8c5fa120601: A up to its cut after A, then B from its cut after A\n{text}\n"
    done = in_process(capsys, "crossover", "one.mmd", "two.mmd", "--format", "json")
    first = {"title": "after A", "values": ["A.response"], "into": ["RETURN.result"], "type": "Text"}
    assert (done.code, done.err) == (0, "")
    assert done.json == {
        "id": "e8c5fa120601",
        "operator": "crossover",
        "title": "A with B's part after A up to B in place of its own after A",
        "cuts": [
            {"parent": "A", "file": "one.mmd", "places": [first]},
            {
                "parent": "B",
                "file": "two.mmd",
                "places": [{**first, "into": ["B.input"]}, {**first, "title": "after B", "values": ["B.response"]}],
            },
        ],
        "text": text,
    }


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_person_is_told_that_there_was_nothing_to_do(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    drawing = "flowchart TD\n    A --> B\n"
    write("one.mmd", drawing)
    write("two.mmd", drawing)
    with terminals() as terminal:
        assert terminal("check", "one.mmd") == "All checks passed: 1 file.\n"
        assert terminal("check", "one.mmd", "two.mmd") == "All checks passed: 2 files.\n"
        assert terminal("fmt", "one.mmd") == "Nothing to change: 1 file.\n"
        assert terminal("fmt", "one.mmd", "two.mmd", "--check") == "Nothing to change: 2 files.\n"
        assert (
            terminal("check", "one.mmd", "none.mmd")
            == "merrow: There is no file or folder named none.mmd. Did you mean one.mmd?\n"
        )
        head, _, *rows = terminal("rules").split("\n")[1:]
    assert head.replace("\x1b[1m", "").replace("\x1b[0m", "").split() == ["code", "severity", "name", "fix", "summary"]
    begun = [row.split()[:3] for row in rows if row.strip().startswith("MW")]
    assert begun == [[rule.code, rule.severity.value, rule.name] for rule in all_rules()]
    for command in (("check", "one.mmd"), ("fmt", "one.mmd")):
        assert in_process(capsys, *command).out == ""


def test_a_failure_probability_is_a_probability(capsys: Capture) -> None:
    write("good.mmd", GOOD)
    for value in ("2", "nan", "x"):
        assert in_process(capsys, "metrics", "--failure-probability", value, "good.mmd").code == 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rules"], [rule.code for rule in all_rules()]),
        (["explain", "MW105"], ["MW105"]),
        (["check", "good.mmd"], ["good.mmd"]),
        (["check", "--select", "MW105", "good.mmd"], ["All checks passed", ": 1 file."]),
        (["fmt", "good.mmd"], ["Nothing to change", ": 1 file."]),
    ],
)
def test_a_terminal_gets_the_pretty_form(arguments: list[str], words: list[str]) -> None:
    write("good.mmd", GOOD)
    reader, terminal = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    program = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *arguments], stdout=terminal, stderr=subprocess.PIPE, env=environment
    )
    os.close(terminal)
    shown = b"".join(iter(lambda: _read(reader), b""))
    os.close(reader)
    assert program.stderr is not None
    assert program.stderr.read() == b""
    assert program.wait(PATIENCE) == 0
    assert b"\x1b[" in shown
    assert [word for word in words if word.encode() not in shown] == []


def _read(terminal: int) -> bytes:
    """What is written to a terminal next; nothing once its writer is gone, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(("count", "waits"), [(49, False), (50, True)])
def test_a_person_who_waits_for_many_files_sees_how_far_it_is_and_the_output_is_the_same(
    count: int, waits: bool
) -> None:
    for number in range(count):
        write(f"flows/{number:02}.mmd", GOOD.replace("A -->", "B -->") if number % 7 == 0 else GOOD)
    command = [sys.executable, "-m", "merrow_server", "check", "flows"]
    alone = subprocess.run(command, capture_output=True, timeout=120, check=False)
    reader, terminal = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b"".join(iter(lambda: _read(reader), b""))
    os.close(reader)
    assert program.stdout is not None
    assert program.stdout.read() == alone.stdout != b""
    assert program.wait(PATIENCE) == alone.returncode
    assert (b"100%" in shown) == waits


def test_no_file_of_the_current_folder_is_imported() -> None:
    names = (
        "click",
        "json",
        "rich",
        "openai",
        "aiohttp",
        "merrow_analysis",
        "merrow_runtime",
        "difflib",
        "tempfile",
        "secrets",
    )
    for name in names:
        write(f"{name}.py", f"open({name + '.hit'!r}, 'w')\nraise SystemExit('planted')\n")
    write("good.mmd", GOOD)
    assert merrow("check", "good.mmd").code == 0
    run = merrow("run", "good.mmd", "--input", "PROBLEM=x", "--no-store")
    assert run.code == 0, run.err
    assert list(Path.cwd().glob("*.hit")) == []
