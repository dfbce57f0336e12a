"""Events and failures of runs as programs read them from the command line."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Reply, Status, serving
from tests.runtime.workflows import CHAIN
from tests.server.program import in_process, write

from merrow_runtime.events import Event
from merrow_runtime.store.database import Store
from merrow_server.cli.sessions.run_display import display_for

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


def events(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("text", "code"), [(CHAIN.replace("    B --> RETURN\n", ""), "usage"), (CHAIN, "input"), (None, "input")]
)
def test_a_run_that_cannot_begin_is_one_event_without_a_run(text: str | None, code: str, capsys: Capture) -> None:
    if text is not None:
        write("flow.mmd", text)
    outcome = in_process(capsys, "run", "flow.mmd", "--json")
    (told,) = events(outcome.out)
    assert outcome.code == 2
    assert {key: told[key] for key in ("schema", "number", "event", "run", "node", "path")} == {
        "schema": 2,
        "number": 1,
        "event": "run_failed",
        "run": None,
        "node": None,
        "path": "",
    }
    assert told["error"] in outcome.err
    assert told["code"] in (code, "usage")
    assert "usage" in told


def test_a_failure_has_its_kind_node_and_remedy_in_events_and_in_the_journal(
    server: OpenAIServer, capsys: Capture
) -> None:
    write("flow.mmd", CHAIN)
    server.script(Reply("x"), Status(401, "who are you"))
    outcome = in_process(capsys, "run", "flow.mmd", "--base-url", server.base_url, "--input", "problem=x", "--json")
    told = events(outcome.out)
    (failed,) = [event for event in told if event["event"] == "node_failed"]
    fields = {"code": "endpoint", "remedy": "key"}
    assert (failed["node"], failed["path"], failed["on_error"]) == ("B", "", "fail")
    assert {key: failed[key] for key in fields} == fields
    assert failed["error"] == failed["reason"]
    last = {"failed_node": "B", "failed_path": "", **fields}
    assert {key: told[-1][key] for key in last} == last
    assert told[-1]["error"] == f"Node B: {failed['error']}"
    shown = in_process(capsys, "show", told[0]["run"], "--format", "json").json
    assert {key: shown[key] for key in last} == last
    nodes = {node["node"]: node for node in shown["nodes"]}
    assert {key: nodes["B"][key] for key in fields} == fields
    assert "code" not in nodes["A"]


@pytest.mark.slow
def test_a_slow_reader_of_events_does_not_hold_the_run_up(server: OpenAIServer) -> None:
    write("flow.mmd", CHAIN)
    long = "word " * 20_000
    server.script(Reply(long), Reply(long))
    command = [
        sys.executable,
        "-m",
        "merrow_server",
        "run",
        "flow.mmd",
        "--base-url",
        server.base_url,
        "--input",
        "problem=x",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + PATIENCE
        while not _ended():
            assert time.monotonic() < deadline, "the run waits for its reader"
            time.sleep(0.05)
        assert process.stdout is not None
        told = events(process.stdout.read().decode())
    numbers = [event["number"] for event in told]
    assert numbers == sorted(set(numbers))
    assert [event["node"] for event in told if event["event"] == "node_finished"] == ["PROBLEM", "A", "B", "RETURN"]
    assert told[-1]["event"] == "run_finished"
    assert process.returncode == 0


@pytest.mark.slow
def test_text_that_nobody_reads_does_not_hold_the_run_up(server: OpenAIServer) -> None:
    write("flow.mmd", CHAIN)
    long = "word " * 20_000
    server.script(Reply(long), Reply(long))
    command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url, "--verbose"]
    with subprocess.Popen(
        [*command, "--input", "problem=x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while not _ended():
            assert time.monotonic() < deadline, "the run waits for its reader"
            time.sleep(0.05)
        assert process.poll() is None  # it still has much to write
        out, err = process.communicate()
    shown = err.decode()
    assert long.strip() in out.decode()
    assert (
        shown.index("A:\nword word")
        < shown.index("A finished")
        < shown.index("B:\nword word")
        < shown.index("Finished")
    )
    assert process.returncode == 0


@pytest.mark.parametrize("as_json", [True, False])
async def test_who_shows_a_run_is_told_while_it_goes_on_that_its_reader_has_gone(
    monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """So that the run is ended, and not paid for to its end."""

    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout" if as_json else "stderr", Gone())
    event = Event("node_started", "run", node="A")
    display: Any = display_for(cast(Any, None), as_json=as_json, verbose=True)
    display.__enter__()
    await display.show(event)
    async with asyncio.timeout(PATIENCE):
        while any(thread.name == "merrow-events" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
    with pytest.raises(BrokenPipeError):
        await display.show(event)


def _ended() -> bool:
    store = Store.open()
    try:
        return any(run.ended is not None for run in store.runs())
    finally:
        store.close()


@pytest.mark.parametrize(("status", "remedy"), [(400, None), (401, "key")])
def test_a_remedy_is_said_where_there_is_one_and_nowhere_else(
    server: OpenAIServer, capsys: Capture, status: int, remedy: str | None
) -> None:
    write("flow.mmd", CHAIN)
    server.script(Reply("x"), Status(status, "that is wrong"))
    outcome = in_process(capsys, "run", "flow.mmd", "--base-url", server.base_url, "--input", "problem=x", "--json")
    told = events(outcome.out)
    shown = in_process(capsys, "show", told[0]["run"], "--format", "json").json
    failed = [event for event in told if event["event"] in ("node_failed", "run_failed")]
    failed += [shown, *(node for node in shown["nodes"] if node["status"] == "failed")]
    assert len(failed) == 4
    for one in failed:
        assert one["code"] == "endpoint"
        assert {key: one[key] for key in ("remedy",) if key in one} == ({} if remedy is None else {"remedy": remedy})
    for other in (*told[:-2], *(node for node in shown["nodes"] if node["status"] != "failed")):
        assert not {"remedy", "code"} & other.keys()
