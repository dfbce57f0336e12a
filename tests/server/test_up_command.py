"""``merrow up`` as its clients see it: a real process, asked by HTTP and by a client of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import end_at_once, merrow, write

FLOW = """\
---
title: Says it twice
workflow:
  types:
    Tone: [warm, cold]
---
flowchart TD
    PROBLEM([Problem]):::Interface
    TONE@{ type: Tone, default: warm }
    TONE:::Interface
    A@{ op: Custom, prompt: "say" }
    B@{ op: Custom, prompt: "again" }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    TONE -->|input| A
    A -->|input| B
    B --> RETURN
    classDef Interface fill:#eee
"""
TOKEN = "a-token-of-the-tests"  # noqa: S105


def answer(request: Received) -> Step:
    """What the model answers, if ever."""
    if "NEVER" in request.prompt:
        return Hang()
    return Reply(
        "SLOWLY it is" if "SLOWLY" in request.prompt else "It is", delay=0.5 if "SLOWLY" in request.prompt else 0.0
    )


class Service:
    """A process that serves ``flow.mmd``, and a client of it."""

    def __init__(self, *arguments: str, token: str | None = TOKEN) -> None:
        env = {name: value for name, value in os.environ.items() if name != "MERROW_UP_TOKEN"}
        command = [sys.executable, "-m", "merrow_server", "up", "flow.mmd", "--port", "0", *arguments]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=env if token is None else {**env, "MERROW_UP_TOKEN": token},
        )
        assert self.process.stdout is not None
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if line.startswith("Stop it"):
                break
        found = re.search(r"is served at (http://127\.0\.0\.1:\d+)", self.told)
        assert found is not None, self.told
        self.url = found[1]
        made = re.search(r"Token: (\S+)", self.told)
        self.headers = {"Authorization": f"Bearer {made[1] if made else token}"}
        self.client = httpx2.Client(base_url=self.url, headers=self.headers, timeout=PATIENCE)

    @property
    def told(self) -> str:
        return "\n".join(self.said)

    def post(self, inputs: Any, **headers: str) -> httpx2.Response:
        return self.client.post(
            "/runs", json=inputs, headers={key.replace("_", "-"): one for key, one in headers.items()}
        )

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        assert self.process.stdout is not None
        self.said += self.process.stdout.read().splitlines()
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.client.close()
        end_at_once(self.process)


@contextlib.contextmanager
def up(*arguments: str, token: str | None = TOKEN) -> Iterator[Service]:
    service = Service(*arguments, token=token)
    try:
        yield service
    finally:
        service.close()


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with serving(answer) as server:
        yield server


@pytest.fixture(autouse=True)
def _flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / ".state"))
    write("flow.mmd", FLOW)


def kept(run: str) -> dict[str, Any]:
    """A run as the journal has it."""
    shown = merrow("show", run, "--format", "json")
    assert shown.code == 0, shown.err
    found: dict[str, Any] = shown.json
    return found


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def test_the_only_model_of_the_endpoint_answers_where_the_workflow_names_none(model: OpenAIServer) -> None:
    model.models = ("tiny",)
    write("flow.mmd", FLOW)
    with up("--base-url", model.base_url) as service:
        assert service.told.count("`tiny`") == 1
        model.models = ("another",)
        assert service.post({"PROBLEM": "Is it?"}).status_code == 200
    assert {body["model"] for body in model.bodies} == {"tiny"}


def test_a_request_is_a_run_in_the_journal(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url, token=None) as service:
        assert service.said == [
            f"flow.mmd is served at {service.url}, to programs on this machine alone.",
            "  POST /runs     a run with the inputs in the body, as JSON",
            "  /openapi.json  what it takes and gives",
            "  /mcp           the tool flow, for the Model Context Protocol",
            "Calls of a run: 2; tokens: about 98 to 8,290; cost: unknown, because a model has no known price.",
            "Where a price is not known, --total-usd can't hold; limit each run with --budget-tokens.",
            f"{model.origin} answers.",
            "At most 16 runs at a time; no further one once they have cost $10. Each is in the journal: merrow runs",
            f"Token: {service.headers['Authorization'].removeprefix('Bearer ')} (send it as Authorization: Bearer TOKEN;"
            " MERROW_UP_TOKEN sets another)",
            "Stop it with Ctrl-C.",
        ]

        document = service.client.get("/openapi.json").json()
        schemas = document["components"]["schemas"]
        assert schemas["Inputs"]["required"] == ["PROBLEM"]
        assert schemas["Inputs"]["properties"]["TONE"]["enum"] == ["warm", "cold"]
        assert schemas["Inputs"]["properties"]["TONE"]["default"] == "warm"
        assert document["info"]["title"] == "Says it twice"
        assert model.requests == []

        answered = service.post({"problem": "six"})
        shown = answered.json()
        assert (answered.status_code, shown["status"]) == (200, "finished")
        jsonschema.validate(shown["outputs"], schemas["Outputs"])
        resolver = {**schemas["Run"], "components": document["components"]}
        jsonschema.validate(shown, resolver)
        assert len(model.requests) == shown["usage"]["calls"] == 2
        journalled = kept(shown["run"])
        assert journalled["outputs"] == shown["outputs"]
        assert journalled["inputs"] == {"PROBLEM": "six", "TONE": "warm"}
        again = service.client.get(f"/runs/{shown['run']}").json()
        assert {key: again[key] for key in ("run", "status", "outputs", "usage")} == {
            key: shown[key] for key in ("run", "status", "outputs", "usage")
        }

        told = service.post({"PROBLEM": "seven", "TONE": "cold"}, Accept="text/event-stream")
        assert told.headers["content-type"].startswith("text/event-stream")
        events = events_of(told.text)
        assert [event["number"] for event in events] == sorted({event["number"] for event in events})
        assert (events[0]["event"], events[-1]["event"]) == ("run_started", "run_finished")
        run = events[-1]["run"]
        whole = service.client.get(f"/runs/{run}/events", headers={"Last-Event-ID": "9" * 5_000})
        assert (whole.status_code, "id: 1\n" in whole.text) == (200, True)
        rest = service.client.get(f"/runs/{run}/events", headers={"Last-Event-ID": "3"})
        assert events_of(rest.text) == [event for event in events if event["number"] > 3]

        begun = service.post({"problem": "eight NEVER"}, Prefer="respond-async")
        assert (begun.status_code, begun.json()["status"]) == (202, "running")
        stopped = service.client.delete(begun.headers["location"])
        assert stopped.json()["status"] == "cancelled"
        assert service.end(signal.SIGINT) == 130


@pytest.mark.slow
def test_a_request_that_comes_again_is_not_paid_again(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url) as service:
        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(service.post, {"PROBLEM": "SLOWLY"}, Idempotency_Key="one") for _ in range(6)]
            answers = [one.result().json() for one in asked]
        assert len({answer["run"] for answer in answers}) == 1
        assert len(model.requests) == 2
        refused = service.post({"PROBLEM": "other"}, Idempotency_Key="one")
        assert refused.status_code == 409
        assert "used for other inputs" in refused.json()["error"]
        other = service.post({"PROBLEM": "SLOWLY"}, Idempotency_Key="two").json()
        assert other["run"] != answers[0]["run"]
        assert len(model.requests) == 2, "equal questions have the answers that are known"
        assert service.post({"PROBLEM": "x"}, Idempotency_Key="x" * 201).status_code == 400
        assert service.end() == 0
    with up("--base-url", model.base_url) as service:
        later = service.post({"PROBLEM": "SLOWLY"}, Idempotency_Key="one").json()
        assert (later["run"], later["outputs"]) == (answers[0]["run"], answers[0]["outputs"])
        assert len(model.requests) == 2
    write("flow.mmd", FLOW.replace('"again"', '"once more"'))
    with up("--base-url", model.base_url) as service:
        changed = service.post({"PROBLEM": "SLOWLY"}, Idempotency_Key="one").json()
        assert changed["run"] != answers[0]["run"], "another version of the workflow is another request"


@pytest.mark.slow
def test_the_end_waits_for_runs_and_what_is_stopped_goes_on_later(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url) as service, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(service.post, {"PROBLEM": "SLOWLY"})
        while not model.requests:
            time.sleep(0.02)
        assert service.end() == 0
        assert "1 run is under way and may end, in 30 seconds at most" in service.told
        assert asked.result().json()["status"] == "finished"
    model.script(Reply("first"), Hang())
    with up("--base-url", model.base_url, "--grace", "0") as service, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(service.post, {"PROBLEM": "other"}, Idempotency_Key="kept")
        while len(model.requests) < 4:
            time.sleep(0.02)
        assert service.end() == 0
        stopped = asked.result()
        assert (stopped.status_code, stopped.json()["status"]) == (503, "cancelled")
        run = stopped.json()["run"]
        assert f"Continue it with: merrow resume {run}" in service.told
    with up("--base-url", model.base_url) as service:
        finished = service.post({"PROBLEM": "other"}, Idempotency_Key="kept").json()
        assert (finished["run"], finished["status"]) == (run, "finished")
        assert len(model.requests) == 5, "what was finished is not asked again"


@pytest.mark.slow
def test_a_second_signal_stops_its_runs_at_once(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url, "--grace", f"{PATIENCE:g}") as service:
        run = service.post({"PROBLEM": "NEVER"}, Prefer="respond-async").json()["run"]
        said = len(service.said)
        service.process.send_signal(signal.SIGINT)
        assert service.process.stdout is not None
        service.said.append(service.process.stdout.readline().rstrip("\n"))
        assert service.end(signal.SIGTERM) == 130
        assert service.said[said:] == [
            f"1 run is under way and may end, in {PATIENCE:g} seconds at most; Ctrl-C again stops at once.",
            f"Run {run} is stopped; what is finished is kept. Continue it with: merrow resume {run}",
        ]


@pytest.mark.slow
def test_the_embedded_model_is_said_to_be_none() -> None:
    with up("--base-url", "offline", "--total-usd", "0.5") as service:
        assert re.fullmatch(r"Calls of a run: 2; tokens: about \d+ to [\d,]+; cost: \$0\.", service.said[4])
        assert service.said[5:7] == [
            "The embedded offline model answers, which costs nothing and is not a real model.",
            "At most 16 runs at a time; no further one once they have cost $0.5. Each is in the journal: merrow runs",
        ]
        assert service.post({"PROBLEM": "x"}).json()["status"] == "finished"


@pytest.mark.slow
def test_it_keeps_within_its_limits(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url, "--most-runs", "2", "--grace", "0") as service:
        begun = [service.post({"PROBLEM": f"NEVER {number}"}, Prefer="respond-async") for number in (1, 2)]
        assert [one.status_code for one in begun] == [202, 202]
        refused = service.post({"PROBLEM": "x"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
        assert refused.json()["error"] == "2 runs are under way; ask again when one has ended."
        said = len(service.said)
        assert service.end() == 0
        assert service.said[said:] == [
            "2 runs are under way and may end, in 0 seconds at most; Ctrl-C again stops at once.",
            *(
                f"Run {one.json()['run']} is stopped; what is finished is kept. Continue it with: merrow resume"
                f" {one.json()['run']}"
                for one in begun
            ),
        ]
    count = len(model.requests)
    with up("--base-url", model.base_url, "--total-usd", "0") as service:
        spent = service.post({"PROBLEM": "x"})
        assert spent.status_code == 402
        assert "it may spend $0" in spent.json()["error"]
        assert len(model.requests) == count


@pytest.mark.slow
def test_what_its_runs_have_cost_counts_each_call_once(model: OpenAIServer) -> None:
    """A cent a call, two calls a run: also the calls of a run that failed, and of its continuation only what is new."""
    write("config/config.toml", f'[prices."{model.origin}"."*"]\ninput = 1000\noutput = 1000\n')
    works = False

    def priced(request: Received) -> Step:
        if "again" in request.prompt and not works:
            return Status(400)
        return Reply(f"It is {len(model.requests)}", usage={"prompt_tokens": 7, "completion_tokens": 3})

    model.answer = priced
    with up("--base-url", model.base_url, "--total-usd", "0.04") as service:
        first = service.post({"PROBLEM": "1"}, Idempotency_Key="first").json()
        assert first["status"] == "failed"
        works = True
        for key in ("first", "first", "second"):
            assert service.post({"PROBLEM": "1" if key == "first" else "2"}, Idempotency_Key=key).status_code == 200
        refused = service.post({"PROBLEM": "3"})
        assert refused.status_code == 402
        assert "The runs of this service have cost $0.0400, and it may spend $0.04: " in refused.json()["error"]
        # What is finished is told all the same.
        assert service.post({"PROBLEM": "2"}, Idempotency_Key="second").status_code == 200
    calls = len(model.requests)
    write("config/config.toml", "")
    with up("--base-url", model.base_url, "--total-usd", "0.01") as service:
        for text in ("4", "5"):
            assert service.post({"PROBLEM": text}).json()["status"] == "finished", (
                "where no price is known, nothing counts"
            )
        assert service.end() == 0
        assert "Traceback" not in service.told
    assert len(model.requests) == calls + 4


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters()) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("PROBLEM"), inner, max_size=3),
    max_leaves=8,
)


def test_whatever_is_sent_is_answered_in_a_sentence(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url) as service:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            for method, path in (("POST", "/runs"), ("GET", "/openapi.json"), ("POST", "/mcp"), ("GET", "/none")):
                refused = httpx2.request(method, service.url + path, headers=headers, content=b"{}")
                assert refused.status_code == 401
                assert TOKEN not in refused.text
        for headers in ({"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example"}):
            assert service.client.get("/openapi.json", headers=headers).status_code == 400
        assert service.client.post("/mcp", headers={"Origin": "http://evil.example"}, json={}).status_code == 403
        assert service.client.post("/runs", content=b" " * 10_000_001).status_code == 413
        assert service.client.post("/mcp", content=b" " * 10_000_001).status_code == 413
        for body in (b"", b"[" * 100_000, b"\xff\xfe", b'"x"', b'{"PROBLEM": NaN, "x": 1}'):
            refused = service.client.post("/runs", content=body)
            assert refused.status_code in (400, 422), body[:20]
            assert refused.json()["error"].endswith(".")
        for path in ("/", "/runs/none", "/runs/none/events", "/runs/..%2f..", "/runs/%00"):
            assert service.client.get(path).status_code == 404
        for method, path, status in (("GET", "/nothing", 404), ("PUT", "/runs", 405)):
            wrong = service.client.request(method, path)
            sentence = f"There is no {method} {path} here; /openapi.json says what there is."
            assert (wrong.status_code, wrong.json()) == (status, {"error": sentence})

        @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
        @given(ANY_JSON)
        def ask(body: Any) -> None:
            answer = service.client.post("/runs", content=json.dumps(body).encode())
            assert answer.status_code in (200, 400, 422)
            assert answer.json().get("error") or answer.json()["status"] == "finished"

        ask()
        # A run of another workflow is not shown.
        write("other.mmd", FLOW)
        other = merrow("run", "other.mmd", "--input", "problem=x", "--base-url", model.base_url, "--json").out
        run = json.loads(other.splitlines()[-1])["run"]
        assert service.client.get(f"/runs/{run}").status_code == 404
        assert service.end() == 0
        assert "Traceback" not in service.told


@pytest.mark.slow
async def test_a_client_of_the_model_context_protocol(model: OpenAIServer) -> None:
    # Loaded here: it takes long, and each process that runs tests reads all of them.
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    with up("--base-url", model.base_url) as service:
        async with (
            httpx2.AsyncClient(headers=service.headers, timeout=PATIENCE) as http,
            Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as client,
        ):
            (tool,) = (await client.list_tools()).tools
            assert (tool.name, tool.description) == ("flow", "Says it twice")
            assert tool.input_schema["required"] == ["PROBLEM"]
            seen: list[tuple[float, str | None]] = []

            async def progress(number: float, total: float | None, message: str | None) -> None:
                seen.append((number, message))

            found = await client.call_tool("flow", {"PROBLEM": "nine"}, progress_callback=progress)
            assert not found.is_error
            jsonschema.validate(found.structured_content, tool.output_schema)
            assert [name for _, name in seen if name in ("A", "B")] == ["A", "B"]
            assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
            assert json.loads(found.content[0].text) == found.structured_content  # type: ignore[union-attr]
            nothing = await client.call_tool("none", {"PROBLEM": "x"})
            assert nothing.is_error
            assert nothing.content[0].text == "There is no tool none; the one here is flow."  # type: ignore[union-attr]
            model.answer = lambda _: Status(400)
            failed = await client.call_tool("flow", {"PROBLEM": "ten"})
            assert failed.is_error
            run = re.fullmatch(r".+ What is finished is kept: merrow resume (\w+)", failed.content[0].text)  # type: ignore[union-attr]
            assert run is not None
            assert kept(run[1])["status"] == "failed"
            assert found.meta is not None
            assert kept(found.meta["run"])["outputs"] == found.structured_content
            wrong = await client.call_tool("flow", {"PROBLEM": "x", "TONE": "loud"})
            assert wrong.is_error
            assert "The input TONE must be of type Tone" in wrong.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("has_handshake", [False, True])
async def test_a_call_of_the_tool_that_is_cancelled_stops_its_run(model: OpenAIServer, *, has_handshake: bool) -> None:
    from mcp import ClientSession
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    @contextlib.asynccontextmanager
    async def client(http: httpx2.AsyncClient, url: str) -> AsyncIterator[Any]:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        if not has_handshake:
            async with Client(transport) as found:
                yield found
            return
        async with transport as streams, ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            yield session

    model.answer = lambda _: Hang()
    with up("--base-url", model.base_url) as service:
        async with (
            httpx2.AsyncClient(headers=service.headers, timeout=PATIENCE) as http,
            client(http, service.url) as caller,
        ):
            call = asyncio.create_task(caller.call_tool("flow", {"PROBLEM": "nine"}))
            await until(lambda: len(model.requests) == 1)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await until(model.abandoned.is_set)
            await until(lambda: json.loads(merrow("runs", "--format", "json").out)[0]["status"] == "cancelled")
            assert len((await caller.list_tools()).tools) == 1, "the next request is answered"
        assert len(model.requests) == 1


async def until(condition: Callable[[], object]) -> None:
    """Wait until this is true of what another process does."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


def test_requests_whose_head_never_comes_keep_nobody_out(model: OpenAIServer) -> None:
    with up("--base-url", model.base_url) as service, contextlib.ExitStack() as opened:
        address = ("127.0.0.1", int(service.url.rpartition(":")[2]))
        for number in range(600):
            half = opened.enter_context(socket.create_connection(address))
            half.sendall(b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Number: %d\r\n" % number)
        assert service.post({"PROBLEM": "nine"}).status_code == 200
        with httpx2.Client(base_url=service.url, timeout=PATIENCE) as stranger:
            told = stranger.get("/openapi.json")
            assert (told.status_code, told.headers["connection"]) == (401, "close")


@pytest.mark.slow
def test_what_keeps_it_from_beginning_is_a_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        outcome = merrow("up", "flow.mmd", "--port", port, env={"MERROW_UP_TOKEN": "x" * 16})
        for token in ("", "x" * 15, "words with spaces between", "é" * 16, "x" * 16 + "\t"):
            wrong = merrow("up", "flow.mmd", "--port", port, env={"MERROW_UP_TOKEN": token})
            assert (wrong.code, wrong.err.count("\n")) == (2, 1)
            assert "must have 16 or more" in wrong.err
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"merrow: Port {port} can't be used: ")
    write("flow.mmd", FLOW.replace("--> RETURN", "--> NOWHERE"))
    assert merrow("up", "flow.mmd").code == 2
    program = (
        "import sys; sys.modules['mcp'] = None; from merrow_server.cli import main; sys.exit(main(['up', 'flow.mmd']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "merrow up needs packages that are not installed; install them with: " in done.stderr
    assert re.search(r"-m pip install '?mcp\S+ \S*starlette\S+ \S*uvicorn", done.stderr)


ASKS = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, prompt: "say" }
    ASK@{ op: Human, ask: "May it be sent?", returns: Bool }
    D{Sent?}:::DecisionOp
    B@{ op: Custom, prompt: "again" }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A -->|input| ASK
    A -->|value| D
    ASK -->|answer:when| D
    D -->|yes| RETURN
    D -->|no:input| B
    B --> RETURN
    classDef Interface fill:#eee
    classDef DecisionOp fill:#fff
"""


@pytest.mark.slow
async def test_a_question_outlives_the_process_that_asked_it(model: OpenAIServer) -> None:
    from mcp import types
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def nobody(_: Any, params: Any) -> Any:
        raise AssertionError(params)

    write("flow.mmd", ASKS)
    state = ""
    for responses in (None, {"ASK": types.ElicitResult(action="accept", content={"answer": True})}):
        # Each process has a token of its own.
        with up("--base-url", model.base_url, token=None) as service:
            assert service.told.count("  POST /runs/ID/answers  the answer to a question that a run asks people") == 1
            assert service.told.count("  /people#TOKEN    a page to answer on, in a browser") == 1
            async with (
                httpx2.AsyncClient(headers=service.headers, timeout=PATIENCE) as http,
                Client(
                    streamable_http_client(f"{service.url}/mcp", http_client=http), elicitation_callback=nobody
                ) as client,
            ):
                found = await client.session.call_tool(
                    "flow",
                    {"PROBLEM": "x"},
                    input_responses=responses,
                    request_state=state or None,
                    allow_input_required=True,
                )
            if responses is None:
                assert isinstance(found, types.InputRequiredResult)
                state = found.request_state or ""
                run = state.partition(".")[0]
                assert kept(run)["status"] == "waiting"
                by_http = service.client.get(f"/runs/{run}").json()["asks"]
                assert [ask["node"] for ask in by_http] == ["ASK"]
                # Killed, as a machine may be.
                service.process.kill()
                service.ended()
            else:
                assert isinstance(found, types.CallToolResult)
                assert found.structured_content == {"RETURN": "It is"}
                assert "Traceback" not in service.told
    assert len(model.requests) == 1


@pytest.mark.slow
def test_a_question_of_the_service_is_answered_on_the_command_line(model: OpenAIServer) -> None:
    write("flow.mmd", ASKS)
    with up("--base-url", model.base_url) as service:
        asked = service.post({"PROBLEM": "x"})
        assert (asked.status_code, asked.json()["status"]) == (202, "waiting")
        run = asked.json()["run"]
        answered = merrow("answer", run, "ASK", "yes", "--base-url", model.base_url)
        assert answered.code == 0, answered.err
        assert service.client.get(f"/runs/{run}").json()["outputs"] == {"RETURN": "It is"}
        late = service.client.post(f"/runs/{run}/answers", json={"node": "ASK", "value": "no"})
        assert (late.status_code, "has answered the question of ASK" in late.json()["error"]) == (409, True)
