"""The least that a scheduler can be: what Merrow's is measured against. Neither journals, checks or tells anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Before = dict[str, list[str]]
Work = Callable[[str, list[str]], Awaitable[str]]


async def run_eagerly(before: Before, work: Work) -> dict[str, str]:
    """Every node the moment its predecessors are done; the results of all nodes."""
    after: dict[str, list[str]] = {name: [] for name in before}
    for name, sources in before.items():
        for source in sources:
            after[source].append(name)
    waiting = {name: len(sources) for name, sources in before.items()}
    results: dict[str, str] = {}
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    tasks: set[asyncio.Task[None]] = set()

    def start(name: str) -> None:
        task = loop.create_task(one(name))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def one(name: str) -> None:
        try:
            results[name] = await work(name, [results[source] for source in before[name]])
        except BaseException as failure:
            if not over.done():
                over.set_exception(failure)
            raise
        for target in after[name]:
            waiting[target] -= 1
            if not waiting[target]:
                start(target)
        if len(results) == len(before):
            over.set_result(None)

    for name, count in waiting.items():
        if not count:
            start(name)
    await over
    return results


async def run_by_levels(before: Before, work: Work) -> dict[str, str]:
    """Level by level: the nodes whose longest path to a beginning is equally long, all at a time."""
    level: dict[str, int] = {}
    for name, sources in before.items():
        level[name] = 1 + max((level[source] for source in sources), default=-1)
    levels: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for name, number in level.items():
        levels[number].append(name)
    results: dict[str, str] = {}
    for names in levels:
        done = await asyncio.gather(*(work(name, [results[source] for source in before[name]]) for name in names))
        results.update(zip(names, done, strict=True))
    return results
