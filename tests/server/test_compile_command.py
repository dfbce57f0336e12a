"""``merrow compile``: a program, checked later, and refused in a sentence."""

from __future__ import annotations

import ast
import compileall
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from tests.runtime.engine.fakes import flowchart
from tests.server.program import GOOD, Outcome, in_process, merrow, write

from merrow_analysis.edits.yaml_write import quoted
from merrow_runtime.compiling.compiler import MARK

BLOCKING = """\
import runpy, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].startswith({blocked!r}):
            raise ImportError("blocked: " + name, name=name)

sys.meta_path.insert(0, Block())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write("flow.mmd", GOOD)


def run(program: str, *arguments: str, blocked: str | tuple[str, ...] = "merrow", **env: str) -> Outcome:
    write("blocking.py", BLOCKING.format(blocked=blocked))
    done = subprocess.run(
        [sys.executable, "blocking.py", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("form", [[], ["--support", "shared.py"], ["--runtime"]])
def test_a_program_answers_as_the_workflow_does(form: list[str]) -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py", *form).code == 0
    ran = merrow("run", "flow.mmd", "--input", "problem=hello", "--record", "run.jsonl")
    blocked = "nothing" if form == ["--runtime"] else "merrow"
    done = run(
        "flow.py", "--input", "problem=hello", "--replay", "run.jsonl", "--record", "again.jsonl", blocked=blocked
    )
    assert (done.code, done.out, done.err) == (0, ran.out, "")
    again = merrow("run", "flow.mmd", "--input", "problem=hello", "--replay", "again.jsonl")
    assert (again.code, again.out) == (0, ran.out)


@pytest.mark.parametrize("form", [[], ["--support", "shared.py"], ["--runtime"]])
@pytest.mark.thinned(16)
def test_a_program_is_checked(form: list[str]) -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py", *form).code == 0
    assert merrow("compile", "--check", "flow.py").code == 0
    assert merrow("compile", "flow.mmd", "--check", "flow.py").code == 0
    program = Path("flow.py").read_text()

    Path("flow.py").write_text(program.replace("def main()", "def  main()"))
    changed = merrow("compile", "--check", "flow.py")
    assert changed.code == 1
    assert "flow.py was changed by hand since it was compiled, first in line" in changed.err
    Path("flow.py").write_text(program.replace("raise SystemExit", "raise  SystemExit"))
    assert "not that of this version of Merrow" in merrow("compile", "--check", "flow.py").err

    Path("flow.py").write_text(program)
    write("flow.mmd", GOOD + "%% a comment\n")
    outdated = merrow("compile", "--check", "flow.py")
    assert outdated.code == 1
    assert "flow.py is out of date: flow.mmd has changed since it was compiled." in outdated.err
    assert merrow("compile", "flow.mmd", "-o", "flow.py", *form).code == 0
    different = [
        (old, new)
        for old, new in zip(program.splitlines(), Path("flow.py").read_text().splitlines(), strict=True)
        if old != new
    ]
    assert len(different) == 1  # the line with the hash
    assert merrow("compile", "--check", "flow.py", "flow.py").code == 0


@pytest.mark.slow
def test_it_is_the_same_each_time_and_clean_python() -> None:
    first, second = merrow("compile", "flow.mmd"), merrow("compile", "flow.mmd")
    assert first.out == second.out
    write("flow.py", first.out)
    assert (
        subprocess.run(
            [
                sys.executable,
                "-m",
                "ruff",
                "check",
                "--isolated",
                "--target-version",
                "py311",
                "--select",
                "E9,F",
                "flow.py",
            ],
            check=False,
        ).returncode
        == 0
    )
    assert compileall.compile_file("flow.py", quiet=1)
    above, _, below = first.out.partition(MARK)
    nodes = 3
    prompts = 1
    assert len([line for line in above.partition("NODES")[2].splitlines() if line.strip()]) <= 3 * nodes + prompts + 6
    allowed = {*sys.stdlib_module_names, "openai", "aiohttp", "httpx2", "json_repair"}
    for node in ast.parse(below).body:
        named = (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        assert {name.partition(".")[0] for name in named} <= allowed


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
    done = run("flow.py", "--input", "problem=x", "--replay", "run.jsonl")
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
    done = run("flow.py", "--input", "problem=x", "--replay", "run.jsonl")
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
    done = run("flow.py", *arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_program_without_the_package_that_reaches_endpoints() -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    done = run("flow.py", "--input", "problem=x", blocked=("merrow", "openai"), OPENAI_API_KEY="k")
    assert done.code == 1
    assert done.err == (
        "flow.py: Node A: Real endpoints need the package openai, which is not installed; install it with: pip install"
        " 'openai[aiohttp]'\n"
    )


BUDGET = GOOD.replace("flowchart TD\n", "---\nworkflow:\n  budget: {usd: 1}\n---\nflowchart TD\n", 1)


def test_what_a_program_cannot_hold_is_refused_by_name() -> None:
    write("flow.mmd", BUDGET)
    refused = merrow("compile", "flow.mmd", "-o", "flow.py")
    assert refused.code == 2
    assert "`budget: usd` needs prices" in refused.err
    assert not Path("flow.py").exists()
    assert merrow("compile", "flow.mmd", "-o", "flow.py", "--runtime").code == 0


SOLVE = ('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
PLANS = (
    'A@{op: Custom, prompt: "p", returns: Workflow}', "W@{op: Call, stop_after: 2}", "PROBLEM --> A -->|workflow| W",
    "PROBLEM -->|problem| W", "W -->|result:| RETURN",
)  # fmt: skip
TURNS = (
    'subgraph L["Loop (max: 2)"]', 'A@{op: Custom, prompt: "p"}', "end", "L@{\n  budget:\n    usd: 1\n}",
    "PROBLEM --> A", "A -.->|again:input| A", "A -->|over| RETURN",
)  # fmt: skip
NEEDS_PRICES = (
    "`budget: usd` needs prices, which a program does not have: limit `tokens` or `seconds`, or use --runtime."
)
ONLY_RUNTIME = "which only the runtime carries out: use merrow run, or --runtime."
PLANNED = (
    "A value of type Workflow is checked by Merrow itself: use merrow run, or --runtime. "
    "Node W runs a workflow that is planned while it runs: use merrow run, or --runtime."
)
ASKS = "`refine: {ask: true}` asks a person, which a program can't: use merrow run."


@pytest.mark.parametrize(
    ("lines", "front", "alone", "with_runtime"),
    [
        (SOLVE, "", None, None),
        (SOLVE, "{model: m, seed: 2, budget: {tokens: 9, seconds: 3}}", None, None),
        (SOLVE, "{budget: {usd: 1, tokens: 9}}", NEEDS_PRICES, None),
        (TURNS, "", NEEDS_PRICES, None),
        (SOLVE, "{redo: {A: 2}}", f"A program can't hold `redo:`, {ONLY_RUNTIME}", None),
        (SOLVE, "{refine: {max: 2}}", f"A program can't hold `refine:`, {ONLY_RUNTIME}", None),
        (SOLVE, "{refine: {ask: true}}", f"A program can't hold `refine:`, {ONLY_RUNTIME}", ASKS),
        (PLANS, "", PLANNED, None),
    ],
)
def test_each_thing_that_a_program_cannot_hold_is_named(
    lines: tuple[str, ...],
    front: str,
    alone: str | None,
    with_runtime: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("flow.mmd", flowchart(*lines, front=front))
    for said, form in ((alone, []), (with_runtime, ["--runtime"])):
        done = in_process(capsys, "compile", "flow.mmd", "-o", "flow.py", *form)
        if said is None:
            assert done.code == 0, done.err
            Path("flow.py").unlink()
        else:
            assert (done.code, done.err.strip()) == (2, f"merrow: flow.mmd can't be compiled. {said}")
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
    for wrong in (["--support", "other/shared.py"], ["--support", "not a name.py"], ["--support", "x.py", "--runtime"]):
        assert merrow("compile", "flow.mmd", "-o", "flow.py", *wrong).code == 2
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
    done = run("flow.py", "--input", "problem=x", "--replay", "run.jsonl")
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
def test_a_function_in_another_program() -> None:
    assert merrow("compile", "flow.mmd", "-o", "out.py").code == 0
    assert merrow("run", "flow.mmd", "--input", "problem=hello", "--record", "run.jsonl").code == 0
    write(
        "user.py",
        "import asyncio\nfrom out import workflow\n"
        "async def go():\n    try:\n        await workflow('hello')\n    except Exception as failure:\n        print(failure)\n"
        "asyncio.run(go())\n",
    )
    done = run("user.py")
    assert done.code == 0
    assert done.out.startswith("There is no model to ask")


@pytest.mark.slow
def test_each_refusal_and_each_change_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> tuple[int, str, str]:
        done = in_process(capsys, "compile", *arguments)
        return done.code, done.out, done.err.removeprefix("merrow: ")

    flow = ("flow.mmd", "-o", "out/flow.py")
    Path("out").mkdir()
    names = ("other/shared.py", "out/shared.txt", "out/not a name.py", "out/1.py", "out/flow.py")
    beside, name = "must be a Python file in the folder of out/flow.py, which imports it.", "give it another name."
    for arguments, sentence in (
        (
            ("flow.mmd", "--runtime", "--support", "s.py"),
            "A program either imports Merrow's runtime (--runtime) or has its code in a module (--support).",
        ),
        (("flow.mmd", "--support", "s.py"), "--support needs -o: the module is written beside the program."),
        ((*flow, "--support", names[0]), f"{names[0]} {beside}"),
        ((*flow, "--support", names[1]), f"{names[1]} {beside}"),
        *(((*flow, "--support", one), f"{one} can't be imported by out/flow.py; {name}") for one in names[2:]),
        ((), "Name the workflow: merrow compile FILE -o FILE.py"),
        (
            (*flow, "more.mmd"),
            "One workflow is compiled at a time, but got more.mmd as well. The program is named with -o.",
        ),
        (("--check", "out/flow.py"), "out/flow.py can't be read: no such file or directory."),
        (
            ("--check", "out/flow.py", "--runtime"),
            "--check goes with FILE alone: the program says itself how it was compiled.",
        ),
        (
            ("--check", "a.py", "flow.mmd", "b.py"),
            "One program is checked against a FILE; without FILE each names its own workflow.",
        ),
    ):
        assert said(*arguments) == (2, "", sentence + "\n"), arguments
    assert list(Path("out").iterdir()) == []

    # What only looks empty, and what an earlier call wrote, is written over; what a person wrote is not.
    write("out/flow.py", " \n")
    again = "Compile it again with: merrow compile out/../flow.mmd -o out/flow.py"
    for form, wrote in (
        (("--support", "out/shared.py"), "out/shared.py is written.\nout/flow.py is written.\n"),
        (("--support", "out/shared.py"), "out/shared.py is written.\nout/flow.py is written.\n"),
        (("--runtime",), "out/flow.py is written.\n"),
        ((), "out/flow.py is written.\n"),
    ):
        assert said(*flow, *form) == (0, wrote, "")
        program = Path("out/flow.py").read_text()
        assert "# Source: ../flow.mmd, SHA-256 " in program
        assert said("--check", "out/flow.py") == said("flow.mmd", "--check", "out/flow.py") == (0, "", "")
        Path("out/flow.py").write_bytes(program.replace("\n", "\r\n").encode())
        assert said("--check", "out/flow.py") == (0, "", ""), "ends of lines are no change"
        # A line that is changed, one that is missing at the end of what a person reads, and one more at the end of all.
        lines = program.splitlines()
        changed, mark = lines.index("NODES = {"), lines.index(MARK)
        by_hand = "out/flow.py was changed by hand since it was compiled, first in line {}. " + again + "\n"
        write("out/flow.py", program.replace("NODES = {", "NODES  = {"))
        assert said("--check", "out/flow.py") == (1, "", by_hand.format(changed + 1))
        write("out/flow.py", "\n".join([*lines[: mark - 1], *lines[mark:], ""]))
        assert said("--check", "out/flow.py") == (1, "", by_hand.format(mark - 1))
        write("out/flow.py", program + "\n")
        assert said("--check", "out/flow.py") == (
            1,
            "",
            f"The code in out/flow.py is not that of this version of Merrow. {again}\n",
        )
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
    assert said(*flow, "--support", "out/shared.py")[0] == 0
    write("out/shared.py", Path("out/shared.py").read_text() + "\n")
    sentence = "The code in out/shared.py is not that of this version of Merrow. "
    assert said("--check", "out/flow.py") == (1, "", f"{sentence}{again} --support out/shared.py\n")
    Path("out/shared.py").unlink()
    assert said("--check", "out/flow.py") == (2, "", "out/shared.py can't be read: no such file or directory.\n")
    write("out/shared.py", "print('mine')\n")
    mine = "out/shared.py is there already and was not made by `merrow compile`; it is not written over.\n"
    assert said(*flow, "--support", "out/shared.py") == (2, "", mine)
    for text in ("print('mine')\n", Path("out/flow.py").read_text().replace(MARK, "")):
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
