"""Carries scripted plans out as LangGraph's example of plan-and-execute does, asked by lines of JSON.

The graph, its state and its nodes are those of the example: a planner, an agent that does the first task of the plan, and a
look at the plan after each task, which answers with the tasks that are left, or with the end. The model behind them is
scripted: it takes some time, and at one look changes the words of a task that has been done, so that it comes once more.
This file imports nothing of Merrow.
"""

from __future__ import annotations

import asyncio
import json
import operator
import sys
import time
from importlib.metadata import version
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph


class PlanExecute(TypedDict, total=False):
    input: str
    plan: list[str]
    past_steps: Annotated[list[tuple[str, str]], operator.add]
    response: str


class Model:
    """What answers the agent and the looks, and counts. The plan is given, so the planner asks nobody."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.calls = 0
        self.asked = asked

    async def plan(self, state: PlanExecute) -> PlanExecute:
        del state
        return {"plan": self.asked["tasks"]}

    async def execute(self, state: PlanExecute) -> PlanExecute:
        task = state["plan"][0]
        self.calls += 1
        await asyncio.sleep(self.asked["task_s"])
        return {"past_steps": [(task, f"{task} is done.")]}

    async def look(self, state: PlanExecute) -> PlanExecute:
        self.calls += 1
        await asyncio.sleep(self.asked["thought_s"])
        left = state["plan"][1:]
        if len(state["past_steps"]) == self.asked["look_after"]:
            left = [f"better {self.asked['changed']}", *left]
        return {"plan": left} if left else {"response": state["past_steps"][-1][1]}


def should_end(state: PlanExecute) -> str:
    return END if state.get("response") else "agent"


async def answer(asked: dict[str, Any]) -> dict[str, float]:
    model = Model(asked)
    graph = StateGraph(PlanExecute)
    graph.add_node("planner", model.plan)
    graph.add_node("agent", model.execute)
    graph.add_node("replan", model.look)
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "agent")
    graph.add_edge("agent", "replan")
    graph.add_conditional_edges("replan", should_end, ["agent", END])
    program = graph.compile()
    began, cpu = time.perf_counter(), time.process_time()
    result = await program.ainvoke({"input": "x"}, {"recursion_limit": 10 + 4 * len(asked["tasks"])})
    passed = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    done = [task for task, _ in result["past_steps"]]
    if set(done) != {*asked["tasks"], f"better {asked['changed']}"}:
        raise SystemExit(f"LangGraph did {done}")
    return {"calls": model.calls, **passed}


def main() -> None:
    print(json.dumps({"version": version("langgraph")}), flush=True)
    for line in sys.stdin:
        print(json.dumps(asyncio.run(answer(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
