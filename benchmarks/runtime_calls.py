"""Calls a second to a server on loopback: a workflow of one node, and the ``openai`` client alone."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import merrow_runtime
from benchmarks.runtime_schedulers import Time, timed
from merrow_runtime.models.connections import Connection
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


@dataclass(frozen=True)
class Rate:
    """At one concurrency: calls a second, and CPU milliseconds of a call, of each contender; medians of the rounds.

    ``gain`` is how many times more calls a second Merrow makes than the client alone, the median of the rounds' ratios.
    """

    concurrency: int
    calls: int
    per_second: dict[str, float]
    cpu: dict[str, float]
    gain: float


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
    endpoint = OpenAIEndpoint(Connection(base_url, "key", concurrency))
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


async def through_openai(base_url: str, concurrency: int, calls: int) -> Time:
    """The ``openai`` client with its default transport, and nothing else; connections are open beforehand."""
    try:
        client_of: Any = importlib.import_module("openai").AsyncOpenAI
    except ImportError:
        raise SystemExit(
            "This benchmark compares calls with the package openai; install it: pip install openai"
        ) from None

    bound = asyncio.Semaphore(concurrency)
    async with client_of(base_url=base_url, api_key="key", max_retries=0) as client:

        async def ask() -> str | None:
            async with bound:
                answer = await client.chat.completions.create(
                    model="loopback",
                    messages=[
                        {"role": "system", "content": "Answer the question."},
                        {"role": "user", "content": "What is the answer?"},
                    ],
                    temperature=0.7,
                )
                text: str | None = answer.choices[0].message.content
                return text

        async def work(count: int = calls) -> None:
            await asyncio.gather(*(ask() for _ in range(count)))

        await work(concurrency)
        return await timed(work)


def measure_calls(concurrency: int, calls: int, rounds: int, folder: Path) -> Rate:
    """Both contenders, in turns."""
    workflow = check_workflow(_TEXT.format(calls=calls), name="calls.mmd")
    warm = check_workflow(_TEXT.format(calls=concurrency), name="warm.mmd")
    taken: dict[str, list[Time]] = {"merrow": [], "openai": []}
    with server() as base_url:

        async def merrow() -> Time:
            store = Store.open(folder / "calls.sqlite")
            try:
                return await through_merrow(base_url, concurrency, workflow, warm, store)
            finally:
                store.close()

        contenders: dict[str, Callable[[], Coroutine[None, None, Time]]] = {
            "merrow": merrow,
            "openai": lambda: through_openai(base_url, concurrency, calls),
        }
        for number in range(rounds):
            names = list(contenders)
            for name in names if number % 2 else reversed(names):
                taken[name].append(asyncio.run(contenders[name]()))
    return Rate(
        concurrency,
        calls,
        {name: median(calls / time.wall for time in times) for name, times in taken.items()},
        {name: median(time.cpu * 1000 / calls for time in times) for name, times in taken.items()},
        median(slow.wall / fast.wall for slow, fast in zip(taken["openai"], taken["merrow"], strict=True)),
    )
