"""Runs graphs with LangGraph for `benchmarks.runtime`, asked by lines of JSON; it imports nothing of Merrow.

A node reads the texts of those before it from the state and hands on a short one of its own, as the others' nodes do.
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
    texts: Annotated[dict[str, str], operator.or_]


def node(name: str, sources: list[str], seconds: float) -> Callable[[State], Awaitable[dict[str, dict[str, str]]]]:
    async def work(state: State) -> dict[str, dict[str, str]]:
        given = [state["texts"][source] for source in sources]
        if seconds:
            await asyncio.sleep(seconds)
        return {"texts": {name: f"This is the answer of {name} to {len(given)} texts."}}

    return work


def build(before: dict[str, list[str]], seconds: float) -> StateGraph[State]:
    graph = StateGraph(State)
    for name, sources in before.items():
        graph.add_node(name, node(name, sources, seconds))
        for source in sources or [START]:
            graph.add_edge(source, name)
    graph.add_edge(next(reversed(before)), END)
    return graph


async def measured(graph: Any, settings: dict[str, Any], nodes: int) -> dict[str, float]:
    gc.collect()
    gc.freeze()
    wall, cpu = time.perf_counter(), time.process_time()
    result = await graph.ainvoke({"texts": {}}, settings)
    passed = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    gc.unfreeze()
    if len(result["texts"]) != nodes:
        raise SystemExit(f"LangGraph ran {len(result['texts'])} nodes of {nodes}")
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
