"""Plans for tests: generated ones, and answers that say them."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from merrow_optimizer.planning.task_graph import PlannedAgent, PlannedTask, TaskGraph

SOLVER = PlannedAgent("solver", "Solver")


def plan_of(ids: str, *edges: str) -> TaskGraph:
    """``plan_of("ABC", "AB", "AC")``: three tasks, the first before the others."""
    return TaskGraph(
        tuple(
            PlannedTask(one, f"Do {one}.", "solver", after=tuple(edge[0] for edge in edges if edge[1] == one))
            for one in ids
        ),
        (SOLVER,),
    )


@st.composite
def plans(draw: st.DrawFn, most: int = 9) -> TaskGraph:
    """Any plan without a cycle."""
    count = draw(st.integers(1, most))
    order = draw(st.permutations(range(count)))
    ids = [f"task{number}" for number in range(count)]
    tasks = {}
    for at, number in enumerate(order):
        before = draw(st.sets(st.sampled_from(order[:at]))) if at else set()
        tasks[number] = PlannedTask(
            ids[number], f"Do part {number}.", "solver", after=tuple(ids[one] for one in sorted(before))
        )
    return TaskGraph(tuple(tasks[number] for number in range(count)), (SOLVER,))


def merrow_form(plan: TaskGraph) -> dict[str, object]:
    """As the schema `merrow_plan` has it."""
    return {
        "agents": [{"id": agent.id, "role": agent.role, "prompt": agent.prompt} for agent in plan.agents],
        "tasks": [
            {
                "id": task.id,
                "objective": task.objective,
                "agent": task.agent,
                "output_format": task.output_format,
                "after": list(task.after),
            }
            for task in plan.tasks
        ],
    }


def flow_form(plan: TaskGraph) -> dict[str, object]:
    """As Flow's planner answers."""
    number = {agent.id: at for at, agent in enumerate(plan.agents)}
    return {
        "workflow": {
            task.id: {
                "objective": task.objective,
                "agent_id": number[task.agent or ""],
                "next": [target for source, target in plan.edges if source == task.id],
                "prev": list(task.after),
            }
            for task in plan.tasks
        },
        "agents": [{"id": f"Agent {at}", "role": agent.role} for at, agent in enumerate(plan.agents)],
    }


def early_form(plan: TaskGraph) -> dict[str, object]:
    """As Flow's planner answered in its notebooks: ids are numbers."""
    number = {task.id: at for at, task in enumerate(plan.tasks)}
    return {
        "subtasks": [{"id": number[task.id], "objective": task.objective} for task in plan.tasks],
        "subtask_dependencies": [{"parent": number[one], "child": number[other]} for one, other in plan.edges],
        "agents": [
            {
                "id": f"Agent {at}",
                "role": agent.role,
                "subtasks": [number[task.id] for task in plan.tasks if task.agent == agent.id],
            }
            for at, agent in enumerate(plan.agents)
        ],
    }


def dictionary_form(plan: TaskGraph) -> dict[str, object]:
    """As Flow's files have it: tasks alone, each with its role."""
    roles = {agent.id: agent.role for agent in plan.agents}
    flow = flow_form(plan)["workflow"]
    assert isinstance(flow, dict)
    return {
        name: {**said, "id": name, "status": "pending", "agent": roles[task.agent or ""]}
        for task, (name, said) in zip(plan.tasks, flow.items(), strict=True)
    }


FORMS = [merrow_form, flow_form, early_form, dictionary_form]


def answer(said: object) -> str:
    return json.dumps(said, ensure_ascii=False)
