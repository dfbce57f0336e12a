"""Requests to a served workflow in this process, against an endpoint of the tests: each answer whole, its status and headers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx2
from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.outside.user_servers import UserServers
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.database import Store
from merrow_server.service.http import LARGEST_BODY, application
from merrow_server.service.runs import LONGEST_KEY, ServedRuns

LINES = ('A@{op: Custom, prompt: "say"}', "PROBLEM --> A --> RETURN")
TOKEN = "a-token-of-the-tests"  # noqa: S105


@asynccontextmanager
async def served(
    endpoint: FakeEndpoint, *, most: int = 2, usd: float = 1.0
) -> AsyncIterator[tuple[httpx2.AsyncClient, ServedRuns, Store]]:
    """A client of a workflow with one node, its runs and their journal."""
    with closing(Store.open()) as store:
        runs = ServedRuns(
            workflow(*LINES),
            RunOptions(),
            ChosenEndpoint(endpoint, "m"),
            store,
            UserServers(lambda: None),
            most=most,
            usd=usd,
        )
        transport = httpx2.ASGITransport(application(runs, TOKEN, "http://127.0.0.1:1"))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1", headers=headers) as client:
            try:
                yield client, runs, store
            finally:
                runs.cancel()
                await runs.ended()


def refused(answer: httpx2.Response) -> tuple[int, str]:
    """The status of a refusal and its sentence, which is all that it has."""
    shown = answer.json()
    assert list(shown) == ["error"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.text.endswith("}\n")
    return answer.status_code, shown["error"]


async def test_a_token_is_asked_of_every_request() -> None:
    wrong = (401, "Send the token that merrow up printed: Authorization: Bearer TOKEN")
    async with served(FakeEndpoint()) as (client, _, _):
        for said, fits in (
            (f"Bearer {TOKEN}", True),
            (f"bearer  {TOKEN} ", True),
            (f"Basic {TOKEN}", False),
            (TOKEN, False),
            (f"Bearer {TOKEN}x", False),
            ("Bearer", False),
            ("Bearer é", False),
        ):
            answer = await client.get("/openapi.json", headers={"Authorization": said.encode()})
            assert answer.status_code == (200 if fits else 401), said
            if not fits:
                assert refused(answer) == wrong
                assert answer.headers["www-authenticate"] == "Bearer"
        document = (await client.get("/openapi.json")).json()
        assert document["servers"] == [{"url": "http://127.0.0.1:1"}]


async def test_what_is_asked_for_is_answered_or_refused_in_a_sentence() -> None:
    endpoint = FakeEndpoint(lambda _: "six")
    object_ = (400, 'The request must be a JSON object with the inputs, as {"PROBLEM": "..."}.')
    async with served(endpoint) as (client, runs, _):
        for body, said in (
            (b"", object_),
            (b"[]", object_),
            (b"{", object_),
            (b"\xff", object_),
            (b"[" * 100_000, object_),
            (b"{}", (422, "The input PROBLEM has no value; it is of type Problem.")),
            (b" " * LARGEST_BODY, object_),
            (b" " * (LARGEST_BODY + 1), (413, "The request is too large: at most 10 MB are read.")),
        ):
            assert refused(await client.post("/runs", content=body)) == said
        status, sentence = refused(await client.post("/runs", json={"PROBLM": "x"}))
        assert (status, "PROBLM" in sentence) == (422, True)
        for method, path, code in (("DELETE", "/runs", 405), ("PUT", "/runs/x", 405), ("GET", "/none", 404)):
            sentence = f"There is no {method} {path} here; /openapi.json says what there is."
            assert refused(await client.request(method, path)) == (code, sentence)
        assert endpoint.seen == []
        for path in ("/runs/none", "/runs/none/events"):
            here = path.endswith("events")
            sentence = (
                "The service has begun no run none since it is up; see it with: merrow show none"
                if here
                else "There is no run none of this workflow."
            )
            assert refused(await client.get(path)) == (404, sentence)
        assert refused(await client.delete("/runs/none")) == (404, "There is no run none of this workflow.")

        done = await client.post("/runs", json={"problem": "x"})
        shown = done.json()
        run = shown["run"]
        assert (done.status_code, done.headers["location"]) == (200, f"/runs/{run}")
        assert (shown["status"], shown["outputs"], shown["usage"]["calls"]) == ("finished", {"RETURN": "six"}, 1)
        await runs.ended()
        kept = (await client.get(f"/runs/{run}")).json()
        assert list(kept) == ["run", "status", "outputs", "usage", "seconds", "exhausted"]
        assert {name: one for name, one in kept.items() if name != "seconds"} == {
            name: one for name, one in shown.items() if name in kept and name != "seconds"
        }
        assert (await client.delete(f"/runs/{run}")).json() == kept

        whole = (await client.get(f"/runs/{run}/events")).text
        told = [json.loads(line.removeprefix("data: ")) for line in whole.splitlines() if line.startswith("data: ")]
        assert [one["number"] for one in told] == list(range(1, len(told) + 1))
        parts = [f"id: {one['number']}\nevent: {one['event']}\ndata: {json.dumps(one)}\n\n" for one in told]
        assert whole == "".join(parts)
        for last, left in (
            ("2", 2),
            ("0", 0),
            ("x", 0),
            ("²", 0),
            ("-1", 0),
            (str(len(told)), len(told)),
            ("9" * 18, len(told)),
            ("9" * 19, 0),
        ):
            answer = await client.get(f"/runs/{run}/events", headers={"Last-Event-ID": last.encode()})
            assert answer.text == "".join(parts[left:]), last
            assert answer.headers["content-type"].startswith("text/event-stream")
        streamed = await client.post("/runs", json={"problem": "y"}, headers={"Accept": "text/event-stream"})
        other = streamed.headers["location"].removeprefix("/runs/")
        assert (streamed.status_code, streamed.text) == (200, (await client.get(f"/runs/{other}/events")).text)
        assert runs.going == []


async def test_a_run_that_fails_says_why_and_one_that_is_stopped_what_it_has() -> None:
    endpoint = FakeEndpoint(lambda _: EndpointFailure("It is broken."))
    async with served(endpoint) as (client, runs, _):
        failed = await client.post("/runs", json={"problem": "x"})
        shown = failed.json()
        assert (failed.status_code, shown["status"], shown["outputs"]) == (500, "failed", {})
        assert "It is broken." in shown["error"]
        kept = (await client.get(f"/runs/{shown['run']}")).json()
        assert shown.pop("sources") == []
        assert {**kept, "seconds": 0} == {**shown, "seconds": 0}

        await runs.ended()
        endpoint.gate = asyncio.Event()
        begun = await client.post("/runs", json={"problem": "y"}, headers={"Prefer": "respond-async"})
        assert (begun.status_code, begun.json()["status"]) == (202, "running")
        run = begun.json()["run"]
        assert (begun.headers["location"], runs.going) == (f"/runs/{run}", [run])
        stopped = await client.delete(f"/runs/{run}")
        assert (stopped.status_code, stopped.json()["run"], stopped.json()["status"]) == (200, run, "cancelled")


async def test_limits_hold_for_what_begins_and_not_for_what_is_known() -> None:
    endpoint = FakeEndpoint(lambda _: "six")
    endpoint.gate = asyncio.Event()
    later = {"Prefer": "respond-async"}

    async def begin(client: httpx2.AsyncClient, problem: str, key: str | None = None) -> httpx2.Response:
        return await client.post(
            "/runs", json={"problem": problem}, headers=later if key is None else {**later, "Idempotency-Key": key}
        )

    async with served(endpoint) as (client, runs, _):
        first, second = await begin(client, "1", "k" * LONGEST_KEY), await begin(client, "2")
        assert (first.status_code, second.status_code, len(runs.going)) == (202, 202, 2)
        third = await begin(client, "3")
        assert refused(third) == (429, "2 runs are under way; ask again when one has ended.")
        assert third.headers["retry-after"] == "5"
        again = await begin(client, "1", "k" * LONGEST_KEY)
        assert (again.status_code, again.json()["run"]) == (202, first.json()["run"])
        other = await begin(client, "other", "k" * LONGEST_KEY)
        assert refused(other) == (409, "This Idempotency-Key was used for other inputs; use a new one.")
        assert "retry-after" not in other.headers
        for key in ("", "k" * (LONGEST_KEY + 1)):
            assert refused(await begin(client, "1", key)) == (400, "An Idempotency-Key has 1 to 200 characters.")
        endpoint.gate.set()
        await runs.ended()
        assert runs.going == []
        runs.close()
        closed = await begin(client, "3")
        assert refused(closed) == (503, "The service is being stopped; ask again when it is up.")
        assert closed.headers["retry-after"] == "5"
        known = await client.post("/runs", json={"problem": "1"}, headers={"Idempotency-Key": "k" * LONGEST_KEY})
        assert (known.status_code, known.json()["run"]) == (200, first.json()["run"])
    endpoint.gate = asyncio.Event()
    async with served(endpoint, most=1) as (client, _, _):
        assert (await begin(client, "5")).status_code == 202
        assert refused(await begin(client, "6")) == (429, "A run is under way; ask again when it has ended.")
    async with served(endpoint, usd=0.0) as (client, _, _):
        sentence = "start it again, with a higher --total-usd if need be."
        spent = f"The runs of this service have cost $0.0000, and it may spend $0: {sentence}"
        assert refused(await begin(client, "4")) == (402, spent)
        told: Any = (await client.get(f"/runs/{first.json()['run']}")).json()
        assert told["status"] == "finished"
