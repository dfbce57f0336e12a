"""``python -m benchmarks.runtime_calls``: what a call costs in a whole run with its journal, and in the ``openai`` package alone.

All go through the package's transport over aiohttp to a server on loopback in a process of its own, in turns in one run. The
package is asked as its users ask it (``chat.completions.create``), and on the level that Merrow uses (``with_raw_response``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import openai

import merrow_runtime
from benchmarks.runtime_schedulers import Time, timed
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow, check_workflow

SECONDS = 0.05
"""How long the server takes for an answer."""

_TEXT = """\
---
workflow: {{model: loopback}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE@{{ op: Custom, prompt: "Answer the question.", samples: {calls}, temperature: 0.7, shape: rect }}
    RETURN([Answers]):::Interface
    PROBLEM -->|input| SOLVE
    SOLVE --> RETURN
    classDef Interface fill:#eee
"""


AIM = 1.35
"""How many times the CPU time of ``create`` alone a whole run may take for a call."""


@dataclass(frozen=True)
class Rate:
    """At one concurrency: calls a second, and CPU milliseconds of a call, of each contender; medians of the rounds.

    ``ratios`` says how many times the CPU time of ``create`` each takes, the median of the rounds' ratios.
    """

    concurrency: int
    calls: int
    per_second: dict[str, float]
    cpu: dict[str, float]
    ratios: dict[str, float]


@contextmanager
def server() -> Iterator[str]:
    """The base URL of a server in a process of its own."""
    program = str(Path(__file__).with_name("runtime_server.py"))
    process = subprocess.Popen([sys.executable, program, str(SECONDS)], stdout=subprocess.PIPE, text=True)
    try:
        port = "" if process.stdout is None else process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


async def through_merrow(base_url: str, concurrency: int, workflow: Workflow, warm: Workflow, store: Store) -> Time:
    """One run of a node with as many samples as calls, each journalled; connections are open beforehand."""
    endpoint = OpenAIEndpoint(EndpointConnection(base_url, "key", concurrency))
    options = merrow_runtime.RunOptions(concurrency=concurrency, fresh=True)
    inputs = {"problem": "What is the answer?"}
    try:
        await merrow_runtime.run(warm, inputs, options=options, endpoint=endpoint, store=store)
        results: list[merrow_runtime.RunResult] = []

        async def work() -> None:
            results.append(await merrow_runtime.run(workflow, inputs, options=options, endpoint=endpoint, store=store))

        taken = await timed(work)
    finally:
        await endpoint.close()
    if results[0].status != "finished":
        raise SystemExit(f"The run failed: {results[0].error}")
    return taken


async def through_openai(base_url: str, concurrency: int, calls: int, *, raw: bool) -> Time:
    """The ``openai`` package over aiohttp, and nothing else; connections are open beforehand. ``raw``: its answers are read as
    plain data, not made into its types.
    """
    bound = asyncio.Semaphore(concurrency)
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    transport = openai.DefaultAioHttpClient(limits=limits, follow_redirects=False)
    async with openai.AsyncOpenAI(base_url=base_url, api_key="key", max_retries=0, http_client=transport) as client:
        completions: Any = client.chat.completions
        create = completions.with_raw_response.create if raw else completions.create

        async def ask() -> object:
            async with bound:
                answer = await create(
                    model="loopback",
                    messages=[
                        {"role": "system", "content": "Answer the question."},
                        {"role": "user", "content": "What is the answer?"},
                    ],
                    temperature=0.7,
                )
                return json.loads(answer.content) if raw else answer.choices[0].message.content

        async def work(count: int = calls) -> None:
            await asyncio.gather(*(ask() for _ in range(count)))

        await work(concurrency)
        return await timed(work)


def measure_calls(concurrency: int, calls: int, rounds: int, folder: Path) -> Rate:
    """All contenders, in turns."""
    workflow = check_workflow(_TEXT.format(calls=calls), name="calls.mmd")
    warm = check_workflow(_TEXT.format(calls=concurrency), name="warm.mmd")
    with server() as base_url:

        async def merrow() -> Time:
            store = Store.open(folder / "calls.sqlite")
            try:
                return await through_merrow(base_url, concurrency, workflow, warm, store)
            finally:
                store.close()

        contenders: dict[str, Callable[[], Coroutine[None, None, Time]]] = {
            "merrow": merrow,
            "create": lambda: through_openai(base_url, concurrency, calls, raw=False),
            "with_raw_response": lambda: through_openai(base_url, concurrency, calls, raw=True),
        }
        taken: dict[str, list[Time]] = {name: [] for name in contenders}
        for number in range(rounds):
            names = list(contenders)
            for name in names if number % 2 else reversed(names):
                taken[name].append(asyncio.run(contenders[name]()))
    return Rate(
        concurrency,
        calls,
        {name: median(calls / time.wall for time in times) for name, times in taken.items()},
        {name: median(time.cpu * 1000 / calls for time in times) for name, times in taken.items()},
        {
            name: median(own.cpu / alone.cpu for own, alone in zip(times, taken["create"], strict=True))
            for name, times in taken.items()
        },
    )


def main() -> None:
    """Measure, print the ratios, and whether the aim is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rate = measure_calls(given.concurrency, given.calls, given.rounds, Path(name))
    for name, ratio in rate.ratios.items():
        print(f"{name}: {rate.cpu[name]:.2f} ms CPU a call, {ratio:.2f} times `create` alone")
    met = "met" if rate.ratios["merrow"] <= AIM else "not met"
    print(f"a whole run with its journal within {AIM} times `create` alone: {met}")


if __name__ == "__main__":
    main()
