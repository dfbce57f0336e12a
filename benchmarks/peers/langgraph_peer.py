"""Runs graphs with LangGraph for `benchmarks.runtime`, asked by lines of JSON; it imports nothing of Merrow.

A node hands on a number that is added up, and no text: the least that LangGraph's state can be.
"""

from __future__ import annotations

import asyncio
import gc
import json
import operator
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    count: Annotated[int, operator.add]


def node(seconds: float) -> Callable[[State], Awaitable[dict[str, int]]]:
    async def work(_: State) -> dict[str, int]:
        if seconds:
            await asyncio.sleep(seconds)
        return {"count": 1}

    return work


def build(before: dict[str, list[str]], seconds: float) -> StateGraph[State]:
    graph = StateGraph(State)
    for name, sources in before.items():
        graph.add_node(name, node(seconds))
        for source in sources or [START]:
            graph.add_edge(source, name)
    graph.add_edge(next(reversed(before)), END)
    return graph


async def measured(graph: Any, settings: dict[str, Any], nodes: int) -> dict[str, float]:
    gc.collect()
    gc.freeze()
    wall, cpu = time.perf_counter(), time.process_time()
    result = await graph.ainvoke({"count": 0}, settings)
    passed = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    gc.unfreeze()
    if result["count"] != nodes:
        raise SystemExit(f"LangGraph ran {result['count']} nodes of {nodes}")
    return passed


async def answer(asked: dict[str, Any], folder: Path, number: int) -> dict[str, float]:
    before = asked["before"]
    settings = {"recursion_limit": len(before) + 10, "configurable": {"thread_id": str(number)}}
    graph = build(before, asked["seconds"])
    if not asked["checkpointer"]:
        return await measured(graph.compile(), settings, len(before))
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        await saver.setup()
        return await measured(graph.compile(checkpointer=saver), settings, len(before))


def main() -> None:
    gc.set_threshold(200_000, 20, 100)  # as Merrow's commands do
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"version": version("langgraph")}), flush=True)
        for number, line in enumerate(sys.stdin):
            print(json.dumps(asyncio.run(answer(json.loads(line), Path(folder), number))), flush=True)


if __name__ == "__main__":
    main()
