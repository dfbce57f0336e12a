"""Plans written as workflow files: whatever they say, the file is valid, formatted and says the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.planning.plans import answer, merrow_form, plan_of, plans

from merrow_analysis.check import analyse
from merrow_analysis.formatting import format_text
from merrow_analysis.graph.measures.metrics import subtasks_of
from merrow_optimizer.planning.plan_reader import PlanBounds, read_plan
from merrow_optimizer.planning.plan_workflow import workflow_text
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_runtime import dry_run
from merrow_runtime.workflow import check_workflow

HOSTILE = st.text("ab \"'`{}[]()#%&;:|<>=\\/-_\n\t*!?@,.ü漢", min_size=1, max_size=30).filter(
    lambda text: text.strip() != ""
)
AWKWARD = st.sampled_from(
    [
        "---",
        "%%{init: {}}%%",
        "- a\n- b",
        "yes",
        "null",
        "1e3",
        "{{x}}",
        '<a href="x">',
        "#quot;",
        "a: b",
        "| a",
        "> x",
        "!tag",
        "*a",
        "end",
        'see:\n<a href="x">y</a>',
        "one\n%%{init: 1}%%\ntwo",
    ]
)
TEXTS = HOSTILE | AWKWARD | st.text(min_size=1, max_size=20).filter(lambda text: text.strip() != "")


@settings(max_examples=10, deadline=None)
@given(plans(most=5), st.data())
def test_every_file_is_valid_formatted_and_says_the_plan(plan: TaskGraph, data: st.DataObject) -> None:
    names = data.draw(
        st.lists(TEXTS, min_size=len(plan.tasks), max_size=len(plan.tasks), unique_by=lambda one: " ".join(one.split()))
    )
    given_names = dict(zip(plan.ids, names, strict=True))
    tasks = tuple(
        replace(
            task,
            id=given_names[task.id],
            objective=data.draw(TEXTS),
            output_format=data.draw(st.just("") | TEXTS),
            after=tuple(given_names[one] for one in task.after),
        )
        for task in plan.tasks
    )
    agents = tuple(
        replace(agent, role=data.draw(TEXTS), prompt=data.draw(st.just("") | TEXTS)) for agent in plan.agents
    )
    found = read_plan(answer(merrow_form(TaskGraph(tasks, agents))), PlanBounds()).graph
    if found is None:
        return  # An id of whitespace and control characters alone, or a text of nothing else.
    task = data.draw(TEXTS)
    text = workflow_text(found, task)
    analysis = analyse(text)
    assert analysis.typed is not None
    assert not analysis.diagnostics
    assert format_text(text) == text
    assert list(analysis.settings.prompts.values()) == [one.objective for one in found.tasks]
    assert [(agent.role, agent.prompt) for agent in analysis.settings.agents.values()] == [
        (agent.role, agent.prompt) for agent in found.agents
    ]
    assert analysis.typed.by_id["PROBLEM"].resolution.parameters["default"].value == task
    nodes, edges = subtasks_of(analysis.typed)
    assert nodes[-1] == "ASSEMBLE"
    number = {name: at for at, name in enumerate(found.ids)}
    assert {(nodes.index(one), nodes.index(other)) for one, other in edges if other != "ASSEMBLE"} == {
        (number[one], number[other]) for one, other in found.edges
    }
    formats = [analysis.typed.by_id[name].resolution.parameters.get("format") for name in nodes[:-1]]
    assert ["" if one is None else one.value for one in formats] == [one.output_format for one in found.tasks]


def test_the_file_runs_without_an_input() -> None:
    text = workflow_text(plan_of("ABC", "AB", "AC"), "Write a poem.")
    shown = dry_run(check_workflow(text, name="x.mmd")).to_json()
    assert [node["node"] for node in shown["nodes"]][1:] == ["A", "B", "C", "ASSEMBLE", "RETURN"]
    assert "Write a poem." in str(shown)


@pytest.mark.parametrize(
    "ids",
    [
        ["PROBLEM", "problem", "RETURN"],
        ["end", "o", "x", "yes", "null", "0x1F", "~"],
        ["1", "1 ", "-"],
        ["Ü", "漢", "!", "مرحبا"],
        ["a b", "a_b", "A-B"],
        [
            "graph",
            "flowchart",
            "subgraph",
            "style",
            "class",
            "classDef",
            "click",
            "call",
            "href",
            "linkStyle",
            "default",
            "interpolate",
            "direction",
        ],
    ],
)
def test_awkward_ids_are_made_safe(ids: list[str]) -> None:
    [task], agents = plan_of("A").tasks, plan_of("A").agents
    tasks = tuple(replace(task, id=one, after=tuple(ids[number - 1 : number])) for number, one in enumerate(ids))
    found = analyse(workflow_text(TaskGraph(tasks, agents), "x"))
    assert not found.diagnostics
    assert found.typed is not None
    assert len(found.typed.nodes) == len(ids) + 3


def test_texts_that_make_a_tag_together_are_read_as_they_were_written() -> None:
    plan = plan_of("ABC")
    said = ["<_", "=", "x>"]
    tasks = tuple(replace(one, objective=text) for one, text in zip(plan.tasks, said, strict=True))
    agents = (replace(plan.agents[0], role="<b ="),)
    settings_read = analyse(workflow_text(TaskGraph(tasks, agents), "x")).settings
    assert list(settings_read.prompts.values()) == said
    assert [agent.role for agent in settings_read.agents.values()] == ["<b ="]
