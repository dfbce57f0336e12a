"""Programs of workflows with stores: they find and remember as runs do, in the same stores."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.compiling.programs import Done, run_program
from tests.runtime.openai_server import Hang, Reply, serving
from tests.server.program import in_process
from tests.stores.flows import LESSONS, asks, flow
from tests.stores.test_runs import MANUAL, kept, last, ran, space, texts

from merrow_runtime.program.loading import load
from merrow_runtime.values import as_text

__all__ = ["space"]


def made(capsys: pytest.CaptureFixture[str], text: str, *more: str) -> str:
    Path("flow.mmd").write_text(text, "utf-8")
    done = in_process(capsys, "compile", "flow.mmd", "-o", "flow.py", *more)
    assert done.code == 0, done.err
    return Path("flow.py").read_text("utf-8")


def run(program: str, problem: str, *more: str, space: Path) -> Done:
    return run_program(program, "--input", f"problem={problem}", *more, file=space / "flow.py")


def test_a_program_finds_what_the_workflow_finds(space: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = made(capsys, MANUAL)
    assert "TYPES" not in program  # that of documents is known where there are stores
    found = last(ran(capsys, MANUAL, "green button", "--record", "calls.jsonl"))["outputs"]["RETURN"]
    done = run(program, "green button", "--base-url", "offline", space=space)
    assert (done.code, done.out) == (0, as_text(found) + "\n")
    # The recordings are the same, and a replay reads no documents.
    (space / "manual.jsonl").unlink()
    assert run(program, "green button", "--replay", "calls.jsonl", space=space).out == done.out
    missing = run(program, "green button", "--base-url", "offline", space=space)
    assert missing.code == 2
    assert "Node FIND: Store manual: there is no file ./manual.jsonl" in missing.err


def test_a_program_remembers_for_later_runs(space: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = made(capsys, LESSONS)
    assert run(program, "look left", "--base-url", "offline", space=space).code == 0
    assert run(program, "look right", "--base-url", "offline", space=space).code == 0
    assert kept(space) == ["look left", "look right"]
    assert texts(last(ran(capsys, LESSONS, "look here"))["outputs"]["BEFORE"]) == ["look left", "look right"]


def test_a_program_pays_for_a_text_once(
    space: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = asks("manual: {file: ./manual.jsonl}", "store: manual, k: 1, by: embedding")
    program = made(capsys, text)
    assert "text-embedding" not in program  # It is for the settings to say, where the program runs.
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for _ in range(2):
            assert run(program, "Doors close at nine.", space=space).code == 0
        last(in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=Doors close at nine.", "--json"))
        [request] = server.requests
        assert sorted(request.texts) == ["Doors close at nine.", "Press the green button."]


@pytest.mark.parametrize("text", [MANUAL, LESSONS, asks("m: {folder: .}", "store: m, by: embedding, model: m")])
def test_what_is_read_back_means_the_same(space: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    made(capsys, text)
    assert in_process(capsys, "import", "flow.py", "-o", "back.mmd").code == 0
    back, before = load("back.mmd"), load("flow.mmd")
    assert back.analysis.settings.stores == before.analysis.settings.stores
    Path("back").mkdir()
    Path("back/flow.mmd").write_text(back.text)
    assert in_process(capsys, "compile", "back/flow.mmd", "-o", "back/flow.py").code == 0
    without_hash = [line for line in Path("back/flow.py").read_text().splitlines() if "SHA-256" not in line]
    assert without_hash == [line for line in Path("flow.py").read_text().splitlines() if "SHA-256" not in line]


def test_the_files_of_a_store_are_beside_the_program(space: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (space / "parts").mkdir()
    (space / "parts/find.mmd").write_text(MANUAL)
    caller = (
        "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
        "    FIND@{ op: Call, workflow: ./parts/find.mmd }\n    PROBLEM -->|PROBLEM| FIND\n    FIND --> RETURN\n"
    )
    Path("flow.mmd").write_text(caller)
    refused = in_process(capsys, "compile", "flow.mmd", "-o", "flow.py")
    assert refused.code == 2
    assert "can't hold the store manual of parts/find.mmd, whose documents are not beside flow.mmd" in refused.err
    (space / "find.mmd").write_text(MANUAL)
    program = made(capsys, caller.replace("./parts/", "./"))
    assert "Press the green button." in run(program, "green button", "--base-url", "offline", space=space).out


@pytest.mark.slow
def test_a_program_that_is_alone_has_stores(space: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("flow.mmd").write_text(MANUAL)
    assert in_process(capsys, "compile", "flow.mmd", "--standalone", "-o", "flow.pyz").code == 0
    command = [sys.executable, "-I", "flow.pyz", "--input", "problem=green button", "--base-url", "offline"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Press the green button." in done.stdout


def test_a_program_that_was_killed_remembers_once(
    space: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = flow(
        "lessons: {keep: 9}",
        'SAY["Custom<br/>(prompt: Say it.)"]',
        "KEEP@{ op: Remember, store: lessons }",
        'END["Custom<br/>(prompt: Repeat it.)"]',
        "PROBLEM -->|input| SAY",
        "SAY -->|text| KEEP",
        "KEEP -->|input| END",
        "END --> RETURN",
    )
    made(capsys, text)
    answers = iter([Reply("look left"), Hang()])
    with serving(lambda _: next(answers, Reply("look right"))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        command = [sys.executable, "flow.py", "--input", "problem=x"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while len(server.requests) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
        process.wait(PATIENCE)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "look right\n")
    assert kept(space) == ["look left"]
