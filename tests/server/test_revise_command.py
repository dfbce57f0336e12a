"""`merrow revise` from a second process, on runs under way and stopped."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.lsp.running import editor_on
from tests.server.program import merrow, write

FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    B@{op: Custom, prompt: "second"}
    C@{op: Custom, prompt: "third"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> C --> RETURN
"""


def answer(request: Received) -> Step:
    said = request.body["messages"][0]["content"].split("\n")[0]
    if "second" in said:
        HELD.wait(PATIENCE)
    return Reply(f"{said}!")


HELD = threading.Event()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write("flow.mmd", FLOW)
    HELD.clear()
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server
        HELD.set()


def asked(server: OpenAIServer) -> list[str]:
    return [one.body["messages"][0]["content"].split("\n")[0] for one in server.requests]


def begun() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--input", "problem=x", "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def until(server: OpenAIServer, prompt: str) -> None:
    end = time.monotonic() + PATIENCE
    while prompt not in asked(server):
        assert time.monotonic() < end, prompt
        time.sleep(0.02)


def events(run: subprocess.Popen[str]) -> list[dict[str, Any]]:
    HELD.set()
    out, _ = run.communicate(timeout=PATIENCE)
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.slow
def test_a_run_under_way_is_revised_from_another_process(server: OpenAIServer) -> None:
    run = begun()
    until(server, "second")
    write("new.mmd", FLOW.replace("third", "better"))
    revised = merrow("revise", "flow.mmd", "new.mmd", "--format", "json")
    assert revised.code == 0, revised.err
    assert revised.json["state"] == "applied"
    assert revised.json["diff"]["kept"] == ["A"]
    told = events(run)
    assert asked(server) == ["first", "second", "better"]
    assert [one["event"] for one in told if one["event"].startswith("revision")] == [
        "revision_opened",
        "revision_applied",
    ]
    assert told[-1]["outputs"] == {"RETURN": "better!"}
    shown = merrow("show", "flow.mmd")
    assert "revision 1 (person) applied" in shown.out
    assert merrow("show", "flow.mmd", "--revision", "1").out == FLOW.replace("third", "better")
    assert merrow("show", "flow.mmd", "--revision", "0").out == FLOW
    for number, state, text in ((0, "applied", FLOW), (1, "applied", FLOW.replace("third", "better"))):
        told = merrow("show", "flow.mmd", "--revision", str(number), "--format", "json").json
        assert (told["revision"], told["state"], told["text"], told["files"]) == (number, state, text, {})
        assert told["run"] == shown.out.partition(" ")[0]
    missing = merrow("show", "flow.mmd", "--revision", "2")
    assert missing.code == 2
    assert "has no revision 2: it has 1." in missing.err


@pytest.mark.slow
def test_a_file_with_errors_is_refused_and_the_run_goes_on(server: OpenAIServer) -> None:
    run = begun()
    until(server, "second")
    write("new.mmd", FLOW.replace("--> C", "-->|nowhere| C"))
    revised = merrow("revise", "flow.mmd", "new.mmd")
    assert revised.code == 1
    assert "Revision 1 of run" in revised.err
    assert "is refused. new.mmd has an error" in revised.err
    again = merrow("revise", "flow.mmd", "new.mmd", "--format", "json")
    assert (again.code, again.err) == (1, "")
    assert (again.json["revision"], again.json["state"]) == (2, "refused")
    told = events(run)
    refused = [one["reason"] for one in told if one["event"] == "revision_refused"]
    assert refused == [again.json["reason"]] * 2
    assert "new.mmd has an error" in refused[0]
    assert told[-1]["event"] == "run_finished"
    assert asked(server) == ["first", "second", "third"]


@pytest.mark.slow
def test_a_stopped_run_continues_with_the_file_and_pays_nothing_twice(server: OpenAIServer) -> None:
    run = begun()
    until(server, "second")
    run.kill()
    run.wait()
    run.communicate()
    write("new.mmd", FLOW.replace("A@", "START@").replace("PROBLEM --> A -->", "PROBLEM --> START -->"))
    revised = merrow("revise", "flow.mmd", "new.mmd")
    assert (revised.code, revised.err) == (0, "")
    assert "renamed  START (was A)\n" in revised.out
    assert "To continue it with this workflow: merrow resume" in revised.out
    HELD.set()
    resumed = merrow("resume", "flow.mmd", "--json")
    assert resumed.code == 0, resumed.err
    assert asked(server) == ["first", "second", "second", "third"]
    finished = merrow("revise", "flow.mmd", "new.mmd")
    assert finished.code == 2
    assert "has finished" in finished.err


@pytest.mark.slow
def test_nothing_differs_and_nothing_is_there(server: OpenAIServer) -> None:
    run = begun()
    until(server, "second")
    assert "Nothing differs in revision 1" in merrow("revise", "flow.mmd", "flow.mmd").out
    assert events(run)[-1]["event"] == "run_finished"
    missing = merrow("revise", "flow.mmd", "nofile.mmd")
    assert missing.code == 2


@pytest.mark.slow
def test_a_node_that_is_at_work_and_changes_is_cancelled(server: OpenAIServer) -> None:
    run = begun()
    until(server, "second")
    write("new.mmd", FLOW.replace("second", "other"))
    revised = merrow("revise", "flow.mmd", "new.mmd")
    assert (revised.code, revised.out.splitlines()[-1]) == (0, "cancelled B")
    assert events(run)[-1]["event"] == "run_finished"
    assert asked(server) == ["first", "second", "other", "third"]


ASKING = FLOW.replace("{model: m-1}", "{model: m-1, refine: {every: 1, max: 1, ask: true}}")
WANTED = {"reason": "It is better.", "changes": [{"do": "edit", "id": "C", "objective": "better"}]}


def wanting(request: Received) -> Step:
    """As `answer`; the reviser wants another last node."""
    first = request.body["messages"][0]["content"]
    return Reply(json.dumps(WANTED)) if first.startswith("You look after") else answer(request)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "state", "said", "result"),
    [("--apply", "applied", "to be applied", "better!"), ("--refuse", "refused", "refused", "third!")],
)
async def test_a_revision_that_waits_in_an_editor_is_decided_here(
    server: OpenAIServer, tmp_path: Path, choice: str, state: str, said: str, result: str
) -> None:
    server.answer = wanting
    places = {"MERROW_STATE_DIR": str(tmp_path / "state"), "MERROW_CONFIG_DIR": str(tmp_path / "config")}
    async with editor_on(tmp_path, server, environment=places) as editor:
        ended = editor.begin("merrow.run", uri=editor.open(ASKING), inputs={"problem": "x"})
        await editor.until(lambda: editor.named("revision_waiting"))
        run = editor.events[0]["run"]
        nobody = await asyncio.to_thread(merrow, "revise", run, choice, "2")
        assert (nobody.code, nobody.out) == (2, "")
        assert f"Revision 2 of run {run} does not wait for anybody to agree; see: merrow show {run}" in nobody.err
        decided = await asyncio.to_thread(merrow, "revise", run, choice, "1")
        assert (decided.code, decided.out) == (0, f"Revision 1 of run {run} is {said}.\n")
        await editor.until(lambda: editor.named(f"revision_{state}"))
        assert (await asyncio.to_thread(merrow, "revise", run, choice, "1")).code == 2
        HELD.set()
        assert (await ended)["outputs"] == {"RETURN": result}
