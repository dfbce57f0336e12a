"""What passes between Merrow and a real server: counts, ends of answers, streams, schemas, a full context, a queue, a kill."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.patience import PATIENCE
from tests.real_model.conftest import MODEL, SLOTS
from tests.real_model.tap import Tap
from tests.server.program import Outcome, merrow, write

ONE = """\
---
workflow: {{model: {model}, {settings}}}
---
flowchart LR
    PROBLEM([Problem]):::Interface
    A@{{op: Custom, prompt: "{prompt}"{more}}}
    RETURN([Return]):::Interface
    PROBLEM -->|input| A --> RETURN
"""
ENDLESS = "Write down every step in great detail, and never stop."
RUN = ("run", "flow.mmd", "--input", "PROBLEM=How do I count to one hundred?")


def flow(settings: str = "max_tokens: 24", prompt: str = "Answer in one word.", more: str = "") -> Path:
    return write("flow.mmd", ONE.format(model=MODEL, settings=settings, prompt=prompt, more=more))


def events(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def shown(run: str = "flow.mmd") -> Any:
    return merrow("show", run, "--format", "json").json


def counted(usage: Any) -> tuple[int, int]:
    return usage["prompt_tokens"], usage["completion_tokens"]


@pytest.mark.parametrize("way", [(), ("--json",)], ids=["whole", "streamed"])
def test_an_answer_and_its_tokens_are_those_of_the_server(any_server: Tap, way: tuple[str, ...]) -> None:
    flow("max_tokens: 200")
    done = merrow(*RUN, *way)
    assert done.code == 0, done.err
    (answered,) = any_server.answers
    assert bool(answered.asked.get("stream")) == bool(way)
    assert answered.finish == "stop"
    assert answered.text
    kept = shown()
    assert kept["outputs"]["RETURN"] == answered.text.strip()
    assert counted(kept["usage"]) == answered.usage
    if way:
        told = [one for one in events(done) if one["event"] in ("node_output", "run_finished")]
        assert "".join(one["text"] for one in told[:-1]) == answered.text
        assert counted(told[-1]["usage"]) == answered.usage


@pytest.mark.parametrize("way", [(), ("--verbose",)], ids=["whole", "streamed"])
def test_an_answer_that_is_cut_off_says_so_and_is_paid(any_server: Tap, way: tuple[str, ...]) -> None:
    flow("max_tokens: 8", ENDLESS)
    done = merrow(*RUN, *way)
    assert done.code == 1
    assert {one.finish for one in any_server.answers} == {"length"}
    assert "cut off" in done.err
    assert "max_tokens" in done.err
    kept = shown()
    assert counted(kept["usage"]) == any_server.usage
    assert kept["usage"]["calls"] == len(any_server.exchanges) == len(any_server.answers)


@pytest.mark.parametrize(
    ("returns", "valid"),
    [
        ("Number", lambda value: math.isfinite(float(value))),
        ("Bool", lambda value: isinstance(value, bool)),
        ("Choice", lambda value: value in ("yes", "no", "perhaps")),
    ],
)
def test_a_typed_answer_fits_its_schema_or_the_node_says_what_was_wrong(
    any_server: Tap, returns: str, valid: Callable[[Any], bool]
) -> None:
    flow("max_tokens: 64, types: {Choice: [yes, no, perhaps]}", "Answer.", f", returns: {returns}")
    done = merrow(*RUN, "--json")
    asked = any_server.exchanges[0].asked["response_format"]
    assert asked["type"] == "json_schema", asked
    assert {one.status for one in any_server.exchanges} == {200}, "the schema is taken as it is"
    for answered in any_server.answers:
        if answered.finish == "stop":
            jsonschema.validate(json.loads(answered.text), asked["json_schema"]["schema"])
    last = events(done)[-1]
    if done.code == 0:
        assert valid(last["outputs"]["RETURN"])
    else:
        assert all(one.finish == "length" for one in any_server.answers), done.err


def test_a_prompt_that_does_not_fit_says_the_numbers_and_what_to_do(any_server: Tap) -> None:
    flow()
    write("long.txt", "one two three four five six seven eight nine ten " * 1000)
    done = merrow("run", "flow.mmd", "--input", "PROBLEM=@long.txt")
    assert done.code == 1
    assert len(any_server.exchanges) == 1, "it is not asked again"
    assert "context" in done.err
    assert "4096" in done.err.replace(",", "")
    assert "memory" in done.err
    assert shown()["usage"]["calls"] == 0, "what was refused costs nothing"


def test_an_answer_without_an_end_has_one(server: Tap) -> None:
    server.longest = None
    write("config/config.toml", "models = {max_tokens = 300}")
    flow("retries: 0", ENDLESS)
    done = merrow(*RUN, "--verbose")
    first = server.exchanges[0]
    assert first.asked["max_tokens"] == 300
    assert first.finish in ("stop", "length"), "the server ended it, not a limit of time"
    assert ("cut off" in done.err) == any(one.finish == "length" for one in server.answers)


def test_samples_wait_for_a_place_of_the_server_and_waiting_is_no_timeout(server: Tap) -> None:
    """All of them take longer than the limit of one; two at once take less, if not on a machine that does much else."""
    for limit in (6, 24, 96):
        server.exchanges.clear()
        server.most = 0
        words = ENDLESS.replace("great", "some")
        flow(f"max_tokens: 60, timeout: {limit}, retries: 0", words, ", samples: 8, temperature: 0.7")
        done = merrow(*RUN, "--json", "--fresh")
        if not (late := f"within {limit} seconds" in done.out + done.err):
            break
    assert server.most == SLOTS
    assert len(server.exchanges) >= 8  # and one more for each that was cut off
    assert all(one.whole for one in server.exchanges)
    assert {one.finish for one in server.answers} <= {"stop", "length"}
    assert not late


CHAIN = f"""\
---
workflow: {{model: {MODEL}}}
---
flowchart LR
    PROBLEM([Problem]):::Interface
    A@{{op: Custom, prompt: "Answer in one word.", max_tokens: 200}}
    B@{{op: Custom, prompt: "{ENDLESS}", max_tokens: 500}}
    RETURN([Return]):::Interface
    PROBLEM -->|input| A -->|input| B --> RETURN
    PROBLEM -->|input| B
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("way", [(), ("--verbose",)], ids=["whole", "streamed"])
def test_what_was_finished_before_a_kill_is_not_asked_again(any_server: Tap, way: tuple[str, ...]) -> None:
    any_server.longest = None  # so that the second answer takes longer than the kill
    write("flow.mmd", CHAIN)
    with subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *RUN, *way],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    ) as killed:
        # The second answer has begun: with a stream, its first words are there.
        any_server.wait_until(
            lambda tap: (
                len(tap.exchanges) > 1 and (not tap.exchanges[1].asked.get("stream") or bool(tap.exchanges[1].text))
            )
        )
        killed.send_signal(signal.SIGKILL)
    assert not any_server.exchanges[1].whole
    first = any_server.exchanges[0]
    text = Path("flow.mmd").read_text().replace(ENDLESS, "Answer in one word.")
    write("short.mmd", text)
    # It has an end now. What is finished is kept, and this is not asked.
    assert merrow("revise", "flow.mmd", "short.mmd").code == 0
    resumed = merrow("resume", "flow.mmd", "--json")
    assert resumed.code == 0, resumed.err
    assert [one.asked["messages"] for one in any_server.exchanges].count(first.asked["messages"]) == 1
    assert len(any_server.answers) == 2
    kept = {node["node"]: node for node in shown()["nodes"]}
    assert kept["A"]["outputs"]["response"] == first.text.strip()
    assert counted(kept["A"]["usage"]) == first.usage
    assert counted(kept["B"]["usage"]) == any_server.exchanges[-1].usage
    asked = len(any_server.exchanges)
    assert merrow("resume", "flow.mmd").code == 0
    assert len(any_server.exchanges) == asked, "a finished run is only shown"


def test_the_compiled_program_asks_and_counts_as_the_run_does(any_server: Tap) -> None:
    flow("max_tokens: 100")
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    run = merrow(*RUN, "--fresh")
    assert run.code == 0, run.err
    program = subprocess.run(
        [sys.executable, "flow.py", *RUN[2:]], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert program.returncode == 0, program.stderr
    by_run, by_program = any_server.answers
    for name in ("model", "messages", "max_tokens", "temperature"):
        assert by_run.asked.get(name) == by_program.asked.get(name), name
    assert program.stdout.strip() == by_program.text.strip()
    assert counted(shown()["usage"]) == by_run.usage
