"""``merrow compile``: a program, checked later, and refused in a sentence."""

from __future__ import annotations

import ast
import compileall
import os
import re
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from tests.runtime.compiling.programs import run_program
from tests.runtime.engine.fakes import flowchart
from tests.runtime.openai_server import serving
from tests.server.program import GOOD, Outcome, in_process, merrow, write

from merrow_analysis.edits.yaml_write import quoted


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write("flow.mmd", GOOD)


FORMS = (["-o", "flow.py"], ["--standalone", "-o", "flow.pyz"])


def run(*arguments: str) -> Outcome:
    """Run the program ``flow.py`` in this process."""
    return Outcome(*run_program(Path("flow.py").read_text(), *arguments))


def alone(*arguments: str, **env: str) -> Outcome:
    """Run ``flow.pyz`` with Python's own library, and nothing that is installed."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "flow.pyz", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_a_program_answers_as_the_workflow_does() -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    ran = merrow("run", "flow.mmd", "--input", "problem=hello", "--record", "run.jsonl")
    done = run("--input", "problem=hello", "--replay", "run.jsonl", "--record", "again.jsonl")
    assert (done.code, done.out, done.err) == (0, ran.out, "")
    again = merrow("run", "flow.mmd", "--input", "problem=hello", "--replay", "again.jsonl")
    assert (again.code, again.out) == (0, ran.out)


CHECKED = """\
---
workflow:
  validators:
    short: [{regex: "."}, {schema: {type: integer}}]
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: solver)"]
    CODE@{ op: Programmer, validate: short }
    subgraph L["Loop (max: 2)"]
        MEND@{ op: Custom, prompt: "mend it" }
    end
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A -->|analysis| CODE -->|input| MEND
    PROBLEM -->|problem| CODE
    MEND -.->|again:input| MEND -->|over| RETURN
    classDef Interface fill:#eee
"""


def test_a_standalone_program_replays_with_nothing_installed() -> None:
    """It has code of models run in the sandbox, too, and is the same archive each time."""
    write("flow.mmd", CHECKED)
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz") == Outcome(0, "flow.pyz is written.\n", "")
    assert os.access("flow.pyz", os.X_OK)
    archive = Path("flow.pyz").read_bytes()
    ran = merrow("run", "flow.mmd", "--input", "problem=1 + 1", "--base-url", "offline", "--record", "run.jsonl")
    assert ran.code == 0, ran.err
    done = alone("--input", "problem=1 + 1", "--replay", "run.jsonl")
    assert (done.code, done.out, done.err) == (0, ran.out, "")
    there = alone("--input", "problem=1 + 1", "--base-url", "offline")
    assert (there.code, there.out) == (0, ran.out)
    assert there.err.startswith("flow.pyz: The embedded offline model answers")
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    assert Path("flow.pyz").read_bytes() == archive
    assert merrow("compile", "--check", "flow.pyz").code == 0
    assert merrow("import", "flow.pyz", "-o", "back.mmd").code == 0
    assert merrow("diff", "flow.mmd", "back.mmd", "--format", "json").code == 0


def test_a_standalone_program_says_what_it_lacks_for_real_endpoints() -> None:
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    done = alone("--input", "problem=x", OPENAI_API_KEY="k")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "flow.pyz: Node A: Real endpoints need the package openai, which is not installed; install it with: pip install"
        " 'openai[aiohttp]', or use the embedded model with: --base-url offline\n"
    )


@pytest.mark.slow
def test_a_standalone_program_of_a_workflow_that_changes_has_who_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write("flow.mmd", GOOD.replace("flowchart TD\n", "---\nworkflow:\n  refine: {max: 1}\n---\nflowchart TD\n", 1))
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    done = alone("--input", "problem=x", "--base-url", "offline")
    assert done.code == 0, done.err


def test_a_program_asks_the_only_model_of_its_endpoint_and_says_so() -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    with serving() as server:
        server.models = ("tiny",)
        done = run("--input", "problem=x", "--base-url", server.base_url)
    assert done.code == 0
    assert done.err.startswith("program.py: No model is named; ")
    assert {body["model"] for body in server.bodies} == {"tiny"}


@pytest.mark.parametrize("form", FORMS)
def test_a_program_is_checked(form: list[str]) -> None:
    name = Path(form[-1])
    assert merrow("compile", "flow.mmd", *form).code == 0
    assert merrow("compile", "--check", str(name)).code == 0
    assert merrow("compile", "flow.mmd", "--check", str(name)).code == 0
    program = name.read_bytes()

    write_text(name, text_of(name).replace("def main()", "def  main()"))
    changed = merrow("compile", "--check", str(name))
    assert changed.code == 1
    assert f"{name} was changed by hand since it was compiled, first in line" in changed.err
    write_text(name, re.sub(r", Merrow \S+", ", Merrow 0.0.9", text_of(name)))
    assert "was compiled by another version of Merrow" in merrow("compile", "--check", str(name)).err

    name.write_bytes(program)
    before = text_of(name).splitlines()
    write("flow.mmd", GOOD + "%% a comment\n")
    outdated = merrow("compile", "--check", str(name))
    assert outdated.code == 1
    assert f"{name} is out of date: flow.mmd has changed since it was compiled." in outdated.err
    assert merrow("compile", "flow.mmd", *form).code == 0
    different = [old for old, new in zip(before, text_of(name).splitlines(), strict=True) if old != new]
    assert len(different) == 1  # the line with the hash
    assert merrow("compile", "--check", str(name), str(name)).code == 0


def test_a_standalone_program_with_other_code_of_merrow_is_told() -> None:
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    with zipfile.ZipFile("flow.pyz", "a") as archive:
        archive.writestr("merrow_runtime/more.py", "")
    told = merrow("compile", "--check", "flow.pyz")
    assert (told.code, told.err) == (
        1,
        "merrow: The code in flow.pyz is not that of this version of Merrow. Compile it again with: merrow compile"
        " flow.mmd --standalone -o flow.pyz\n",
    )


def text_of(program: Path) -> str:
    """The text of a program, in an archive or not."""
    if program.suffix == ".py":
        return program.read_text()
    with zipfile.ZipFile(program) as archive:
        return archive.read("__main__.py").decode()


def write_text(program: Path, text: str) -> None:
    """Change the text of a program, in an archive or not."""
    if program.suffix == ".py":
        program.write_text(text)
        return
    with zipfile.ZipFile(program) as archive:
        files = {one: archive.read(one) for one in archive.namelist()} | {"__main__.py": text.encode()}
    with zipfile.ZipFile(program, "w") as archive:
        for one, content in files.items():
            archive.writestr(one, content)


@pytest.mark.slow
def test_it_is_the_same_each_time_and_clean_python() -> None:
    first, second = merrow("compile", "flow.mmd"), merrow("compile", "flow.mmd")
    assert first.out == second.out
    write("flow.py", first.out)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--target-version", "py311", "--select", "E9,F"]
    assert subprocess.run([*command, "flow.py"], check=False).returncode == 0
    assert compileall.compile_file("flow.py", quiet=1)
    nodes = 3
    assert len([line for line in first.out.partition("NODES")[2].splitlines() if line.strip()]) <= 3 * nodes + 12
    modules = {node.module for node in ast.parse(first.out).body if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "merrow_runtime.compiled"}


HOSTILE = [
    'quotes " and """ and \' \\ backslash\nover """" lines\\',
    "{braces} {{}} %s {0}",
    "tab\t nul\0 bell\a\r\n \n blanks  \n",
    'ends with a quote "',
    "é 漢字 🎉 \u2028 \u202e\nsecond",
    "lone \ud800 half",
]


@pytest.mark.parametrize("prompt", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.thinned(24)
def test_any_prompt_is_kept(prompt: str) -> None:
    header = f"---\nworkflow:\n  prompts:\n    solver: {quoted(prompt)}\n---\nflowchart TD\n"
    write("flow.mmd", GOOD.replace("flowchart TD\n", header, 1))
    made = merrow("compile", "flow.mmd", "-o", "flow.py")
    assert made.code == 0, made.err
    ran = merrow("run", "flow.mmd", "--input", "problem=x", "--record", "run.jsonl")
    done = run("--input", "problem=x", "--replay", "run.jsonl")
    assert (done.code, done.out, done.err) == (0, ran.out, "")


@pytest.mark.slow
def test_any_name_becomes_one_of_python() -> None:
    names = [
        "lambda",
        "None",
        "é",
        "a-b",
        "a_b",
        "A_B",
        "flow",
        "Flow",
        "workflow",
        "input",
        "self",
        "ﬁ",
        "fi",
        "match",
        "NODES",
    ]
    lines = [f'    {name}@{{ op: Custom, prompt: "do {number}" }}' for number, name in enumerate(names)]
    edges = [f"    PROBLEM -->|input| {name}\n    {name} --> ALL" for name in names]
    text = "\n".join(
        ["flowchart TD", "    PROBLEM([P]):::Interface", *lines, "    ALL@{ op: Assemble, how: concat }", *edges]
    )
    write("flow.mmd", text + "\n    ALL --> RETURN([R]):::Interface\n    classDef Interface fill:#eee\n")
    made = merrow("compile", "flow.mmd", "-o", "flow.py")
    assert made.code == 0, made.err
    ran = merrow("run", "flow.mmd", "--input", "problem=x", "--record", "run.jsonl")
    done = run("--input", "problem=x", "--replay", "run.jsonl")
    assert (done.code, done.out, done.err) == (0, ran.out, "")
    imported = merrow("import", "flow.py", "-o", "back.mmd")
    assert imported.code == 0, imported.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--input", "problem=x"], "There is no model to ask: set OPENAI_API_KEY"),
        (["--input", "problme=x"], "The workflow has no input problme. Did you mean PROBLEM?"),
        ([], "The input PROBLEM has no value; give it one with: --input problem=..."),
        (["--input", "problem"], "lacks its value"),
        (["--input", "problem=@gone.txt"], "gone.txt can't be read"),
        (["--input", "problem=x", "--replay", "gone.jsonl"], "The recording gone.jsonl can't be read"),
        (["--input", "problem=x", "--replay", "a", "--record", "a"], "can't name the same file"),
        (["--input", "problem=x", "--base-url", "nonsense"], "is not an address"),
    ],
)
@pytest.mark.thinned(24)
def test_a_program_says_what_is_wrong_in_a_sentence(arguments: list[str], sentence: str) -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1


SOLVE = ('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
PLANS = (
    'A@{op: Custom, prompt: "p", returns: Workflow}', "W@{op: Call, stop_after: 2}", "PROBLEM --> A -->|workflow| W",
    "PROBLEM -->|problem| W", "W -->|result:| RETURN",
)  # fmt: skip
TURNS = (
    'subgraph L["Loop (max: 2)"]', 'A@{op: Custom, prompt: "p"}', "end", "L@{\n  budget:\n    usd: 1\n}",
    "PROBLEM --> A", "A -.->|again:input| A", "A -->|over| RETURN",
)  # fmt: skip
ASKS = "`refine: {ask: true}` asks a person, which a program can't: use merrow run."


@pytest.mark.parametrize(
    ("lines", "front", "why"),
    [
        (SOLVE, "", None),
        (SOLVE, "{model: m, seed: 2, budget: {tokens: 9, seconds: 3, usd: 1}}", None),
        (TURNS, "", None),
        (SOLVE, "{redo: {A: 2}}", None),
        (SOLVE, "{refine: {max: 2}}", None),
        (SOLVE, "{refine: {ask: true}}", ASKS),
        (PLANS, "", None),
    ],
)
def test_each_thing_that_a_program_cannot_hold_is_named(
    lines: tuple[str, ...], front: str, why: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    write("flow.mmd", flowchart(*lines, front=front))
    done = in_process(capsys, "compile", "flow.mmd", "-o", "flow.py")
    if why is None:
        assert done.code == 0, done.err
    else:
        assert (done.code, done.err.strip()) == (2, f"merrow: flow.mmd can't be compiled. {why}")
        assert not Path("flow.py").exists()


def test_nothing_is_half_written() -> None:
    write("flow.mmd", GOOD.replace("--> RETURN", "--> NOWHERE"))
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 2
    assert not Path("flow.py").exists()
    write("flow.mmd", GOOD)
    for mine in ("print('mine')\n", "# It calls Merrow.\nprint('mine')\n"):
        write("mine.py", mine)
        refused = merrow("compile", "flow.mmd", "-o", "mine.py")
        assert refused.code == 2
        assert "was not made by `merrow compile`" in refused.err
        assert Path("mine.py").read_text() == mine
    assert merrow("compile", "flow.mmd", "--standalone", "-o", "mine.py").code == 2
    assert merrow("compile", "flow.mmd", "--standalone").code == 2
    assert merrow("compile", "--check", "mine.py").code == 2


@pytest.mark.slow
def test_files_that_call_each_other_become_functions() -> None:
    called = (
        "flowchart TD\n    PROBLEM([P]):::Interface\n"
        "    Q@{ op: Custom, prompt: again?, returns: Bool }\n    WHERE{more?}:::DecisionOp\n"
        "    DEEP@{ op: Call, workflow: ./part.mmd, depth: 2, on_error: skip }\n    RETURN([R]):::Interface\n"
        "    RETURN@{ type: Text }\n"
        "    PROBLEM -->|input| Q\n    Q -->|when| WHERE\n    PROBLEM -->|value| WHERE\n    WHERE -->|no| RETURN\n"
        "    WHERE -->|yes:PROBLEM| DEEP\n    DEEP --> RETURN\n"
        "    classDef Interface fill:#eee\n    classDef DecisionOp fill:#fff\n"
    )
    write("part.mmd", called)
    write("flow.mmd", called.replace("DEEP", "PART").replace("depth: 2, ", ""))
    made = merrow("compile", "flow.mmd", "-o", "flow.py")
    assert made.code == 0, made.err
    ran = merrow("run", "flow.mmd", "--input", "problem=x", "--record", "run.jsonl")
    done = run("--input", "problem=x", "--replay", "run.jsonl")
    assert (done.code, done.out) == (ran.code, ran.out)
    Path("back").mkdir()
    assert merrow("import", "flow.py", "-o", "back/flow.mmd").code == 0
    assert sorted(path.name for path in Path("back").iterdir()) == ["flow.mmd", "part.mmd"]
    alone = merrow("import", "flow.py")
    sentence = "flow.py calls other workflows, which get files of their own: name the file with -o."
    assert (alone.code, alone.out, alone.err) == (2, "", f"merrow: {sentence}\n")
    # Where one of the files is there already, none is written.
    for there in ("flow.mmd", "part.mmd"):
        folder = Path("there", there)
        write(f"{folder}/{there}", "mine")
        refused = merrow("import", "flow.py", "-o", f"{folder}/flow.mmd")
        assert (refused.code, refused.out) == (2, "")
        assert f"{there} is there already and is not written over." in refused.err
        assert [path.read_text() for path in folder.iterdir()] == ["mine"]


@pytest.mark.slow
def test_each_refusal_and_each_change_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> tuple[int, str, str]:
        done = in_process(capsys, "compile", *arguments)
        return done.code, done.out, done.err.removeprefix("merrow: ")

    flow = ("flow.mmd", "-o", "out/flow.py")
    Path("out").mkdir()
    for arguments, sentence in (
        (("flow.mmd", "--standalone"), "--standalone needs -o FILE.pyz: an archive is not printed."),
        (("--check", "out/flow.py"), "out/flow.py can't be read: no such file or directory."),
        (
            ("--check", "out/flow.py", "--standalone"),
            "--check goes with FILE alone: the program says itself how it was compiled.",
        ),
    ):
        assert said(*arguments) == (2, "", sentence + "\n"), arguments
    assert list(Path("out").iterdir()) == []

    # What only looks empty, and what an earlier call wrote, is written over; what a person wrote is not.
    write("out/flow.py", " \n")
    again = "Compile it again with: merrow compile out/../flow.mmd -o out/flow.py"
    assert said(*flow) == said(*flow) == (0, "out/flow.py is written.\n", "")
    program = Path("out/flow.py").read_text()
    assert "# Source: ../flow.mmd, SHA-256 " in program
    assert said("--check", "out/flow.py") == said("flow.mmd", "--check", "out/flow.py") == (0, "", "")
    Path("out/flow.py").write_bytes(program.replace("\n", "\r\n").encode())
    assert said("--check", "out/flow.py") == (0, "", ""), "ends of lines are no change"
    # A line that is changed, one that is missing, and one more at the end.
    lines = program.splitlines()
    changed = lines.index("NODES = {")
    by_hand = "out/flow.py was changed by hand since it was compiled, first in line {}. " + again + "\n"
    for text, line in (
        (program.replace("NODES = {", "NODES  = {"), changed + 1),
        ("\n".join([*lines[:-1], ""]), len(lines)),
        (program + "\n", len(lines) + 1),
    ):
        write("out/flow.py", text)
        assert said("--check", "out/flow.py") == (1, "", by_hand.format(line))
    write("out/flow.py", program)
    write("flow.mmd", GOOD + "%% later\n")
    outdated = "out/flow.py is out of date: {} has changed since it was compiled. "
    for given, source in (((), "out/../flow.mmd"), (("flow.mmd",), "flow.mmd")):
        assert said(*given, "--check", "out/flow.py") == (
            1,
            "",
            outdated.format(source) + again.replace("out/../flow.mmd", source) + "\n",
        )
    write("flow.mmd", GOOD)
    for text in ("print('mine')\n", program.replace("# Source", "# From")):
        write("mine.py", text)
        mine = "mine.py was not made by `merrow compile`, so there is nothing to check it against.\n"
        assert said("--check", "mine.py") == (2, "", mine)
    # Printed, a program names no file beside it.
    assert re.findall(r"# Source: (.*), SHA", said("flow.mmd")[1]) == ["flow.mmd"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_a_pipe_takes_the_program_and_stays_a_pipe() -> None:
    """So does a device: in the place of ``/dev/null`` no file is put."""
    os.mkfifo("pipe")
    texts: list[str] = []
    reader = Thread(target=lambda: texts.append(Path("pipe").read_text("utf-8")), daemon=True)
    reader.start()
    assert merrow("compile", "flow.mmd", "-o", "pipe") == Outcome(0, "pipe is written.\n", "")
    assert Path("pipe").is_fifo()
    reader.join()
    assert texts == [merrow("compile", "flow.mmd").out]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_device_takes_the_program() -> None:
    reader, device = os.openpty()
    shown: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # Nobody writes any more.
            while piece := os.read(reader, 65536):
                shown.append(piece)

    reading = Thread(target=read, daemon=True)
    reading.start()
    place = os.ttyname(device)
    done = merrow("compile", "flow.mmd", "-o", place)
    os.close(device)
    reading.join()
    assert done == Outcome(0, f"{place} is written.\n", "")
    _, name, below = b"".join(shown).decode().replace("\r\n", "\n").partition("flow.mmd, SHA-256 ")
    assert name + below == "".join(merrow("compile", "flow.mmd").out.partition(name)[1:])
