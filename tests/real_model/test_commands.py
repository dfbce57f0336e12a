"""Every command that asks a model, once, with a real one: it ends, what it says was paid is what the server counted, and
asking again costs nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import jsonschema
import pytest
from tests.patience import PATIENCE
from tests.real_model.conftest import MODEL
from tests.real_model.tap import Tap
from tests.real_model.test_protocol import CHAIN, RUN, counted, flow, shown
from tests.server.program import Outcome, merrow, write

from merrow_server.templates import templates

TRACEBACK = "Traceback"
TASK = '{"seed": 17, "depth": 3}'
LETTER = "Dear Sir, the parcel arrived broken and I want my 12 euros back."
ASKS = ("--optimizer-model", MODEL)
SUMS = [
    {"problem": f"What is {n} plus {n + 2}?", "worked": f"{n} + {n + 2} = {2 * n + 2}", "answer": str(2 * n + 2)}
    for n in range(20)
]
DATA = ("--dataset", "sums.jsonl", "--map", "PROBLEM=problem", "--gold", "answer", "--metric", "numeric")


def sums() -> None:
    write("sums.jsonl", "".join(json.dumps(one) + "\n" for one in SUMS))


def ends(outcome: Outcome, *codes: int) -> Outcome:
    """A command that ended as commands do: not by a fault of Merrow."""
    said = outcome.out + outcome.err
    assert outcome.code in codes, said
    assert TRACEBACK not in said, said
    assert "fault in Merrow" not in said, said
    return outcome


def again_without_a_call(server: Tap, *command: str) -> None:
    """The same command gives what it gave, and asks nothing that was answered."""
    before = len(server.exchanges)
    ends(merrow(*command), 0, 1)
    assert len(server.exchanges) == before, server.exchanges[before:]


def test_evaluate_on_twenty_items(server: Tap) -> None:
    flow("max_tokens: 8", "Answer with a number.")
    sums()
    done = ends(merrow("evaluate", "flow.mmd", *DATA, "--format", "json"), 0).json
    assert (done["items"], done["status"]) == (20, "finished")
    assert sum(done["answers"].values()) == 20
    assert done["usage"]["calls"] == len(server.exchanges)
    assert counted(done["usage"]) == server.usage
    again_without_a_call(server, "evaluate", "flow.mmd", *DATA)


def test_optimize_with_sixty_answers(server: Tap) -> None:
    flow("max_tokens: 8", "Answer with a number.")
    sums()
    begin = (
        "optimize",
        "flow.mmd",
        *DATA,
        "--limit",
        "12",
        "--budget-evaluations",
        "60",
        "--small",
        "--format",
        "json",
    )
    ends(merrow(*begin), 0)
    found = merrow("optimizations", "--format", "json").json[0]
    assert found["status"] == "finished"
    assert found["answers"] <= 60
    assert counted(found["usage"]) == server.usage
    candidates = sorted(Path(found["folder"]).glob("*.mmd"))
    assert candidates
    ends(merrow("check", *map(str, candidates)), 0)


def test_plan(server: Tap) -> None:
    command = ("plan", "Write a letter that says sorry for a broken parcel", "-n", "1", "--max-nodes", "4", *ASKS)
    done = ends(merrow(*command), 0, 1)
    assert server.answers
    assert all(one.asked["model"] == MODEL for one in server.exchanges)
    if done.code == 0:
        write("planned.mmd", done.out)
        ends(merrow("check", "planned.mmd"), 0)
    again_without_a_call(server, *command)


def test_suggest(server: Tap) -> None:
    flow("max_tokens: 64")
    command = ("suggest", "flow.mmd", "--n", "1", *ASKS, "--yes", "--budget-tokens", "20000")
    ends(merrow(*command), 0, 1)
    assert server.answers
    again_without_a_call(server, *command)


def test_extract(server: Tap) -> None:
    sums()
    models = ("--model", MODEL, *ASKS)
    small = ("--limit", "2", "--paths", "1", "--steps", "1", "--solution", "worked", "--budget-tokens", "2500")
    ends(merrow("extract", *DATA[1:], *small, *models, "--format", "json"), 0, 1)
    assert server.answers
    (kept,) = merrow("runs", "--kind", "extraction", "--format", "json").json
    assert counted(kept["usage"]) == server.usage
    before = len(server.answers)
    ends(merrow("resume", "--budget-tokens", "2500"), 0, 1)
    asked = [json.dumps(one.asked, sort_keys=True) for one in server.exchanges]
    assert len(set(asked[before:]) & set(asked[:before])) == 0, "what was answered is not asked again"


def test_a_run_is_revised_while_the_model_answers(server: Tap) -> None:
    server.longest = None  # so that the second answer takes longer than the change
    write("flow.mmd", CHAIN.replace("max_tokens: 500", "max_tokens: 400"))
    with subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *RUN, "--json"], stdout=subprocess.PIPE, env=dict(os.environ), text=True
    ) as run:
        server.wait_until(lambda tap: len(tap.exchanges) > 1 and bool(tap.exchanges[1].text))
        write("new.mmd", CHAIN.replace("max_tokens: 500", "max_tokens: 100").replace("Write down", "Name"))
        revised = ends(merrow("revise", "flow.mmd", "new.mmd", "--format", "json"), 0).json
        assert run.stdout is not None
        told = [json.loads(line) for line in run.stdout]
    assert revised["state"] == "applied"
    assert revised["diff"]["kept"] == ["A"]
    asked = [one.asked["messages"][0]["content"] for one in server.exchanges]
    assert asked[0] == "Answer in one word."
    assert asked[1].startswith("Write down")
    assert asked[2].startswith("Name")
    assert asked.count(asked[0]) == 1
    assert told[-1]["event"] in ("run_finished", "run_failed")
    kept = {node["node"]: node for node in shown()["nodes"]}
    assert counted(kept["A"]["usage"]) == server.exchanges[0].usage


@pytest.mark.parametrize("template", [name for name, template in templates().items() if not template.needs()])
def test_a_template_ends(server: Tap, template: str) -> None:
    """The model may be too weak for it: then the node says so, and nothing else fails. Or a person is asked."""
    ends(merrow("new", "flow.mmd", "--template", template), 0)
    inputs = {"PROBLEM": TASK if template.endswith("textcraft") else LETTER}
    if "ENTRY_POINT([" in Path("flow.mmd").read_text():
        inputs["ENTRY_POINT"] = "answer"
    values = [part for name, value in inputs.items() for part in ("--input", f"{name}={value}")]
    done = merrow("run", "flow.mmd", "--model", MODEL, *values, "--budget-tokens", "800", "--budget-seconds", "30")
    ends(done, 0, 1, 3)
    assert server.exchanges
    assert all(one.asked["model"] == MODEL for one in server.exchanges)
    assert all(one.status == 200 for one in server.exchanges if one.whole), "the server takes every request as it is"


async def test_a_client_of_the_model_context_protocol(server: Tap) -> None:
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    flow("max_tokens: 100")
    token = "a-token-of-the-tests"  # noqa: S105
    with subprocess.Popen(
        [sys.executable, "-m", "merrow_server", "up", "flow.mmd", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "MERROW_UP_TOKEN": token},
    ) as service:
        try:
            assert service.stdout is not None
            url = next(found[0] for line in service.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
            ):
                (tool,) = (await client.list_tools()).tools
                found = await client.call_tool(tool.name, {"PROBLEM": "How do I count to one hundred?"})
            assert not found.is_error
            jsonschema.validate(found.structured_content, tool.output_schema)
            assert found.structured_content == {"RETURN": server.answers[0].text.strip()}
            assert found.meta is not None
            assert counted(shown(found.meta["run"])["usage"]) == server.usage
        finally:
            service.kill()
