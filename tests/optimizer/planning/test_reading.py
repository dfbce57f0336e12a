"""What becomes of a planner's answers: what is taken, left out with a note, or asked for again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.planning.plans import FORMS, answer, dictionary_form, flow_form, merrow_form, plan_of, plans
from tests.shared import SHARED

from merrow_optimizer.planning.candidates import written
from merrow_optimizer.planning.choosing import in_order, usable
from merrow_optimizer.planning.plan_reader import PlanBounds, PlanReading, read_plan, read_plans
from merrow_optimizer.planning.questions import PLAN
from merrow_optimizer.planning.ranking import RULES
from merrow_optimizer.planning.task_graph import TaskGraph

BOUNDS = PlanBounds()
DIAMOND = plan_of("ABCD", "AB", "AC", "BD", "CD")
CHAIN = plan_of("ABCD", "AB", "BC", "CD")
FLOW = SHARED / "corpus" / "flow"


def read(said: object, bounds: PlanBounds = BOUNDS) -> PlanReading:
    return read_plan(said if isinstance(said, str) else answer(said), bounds)


def shape(plan: TaskGraph | None) -> tuple[list[str], list[tuple[int, int]], list[str | None]]:
    """Objectives, edges by number and roles: what all forms can say."""
    assert plan is not None
    number = {name: at for at, name in enumerate(plan.ids)}
    roles = {agent.id: agent.role for agent in plan.agents}
    return (
        [task.objective for task in plan.tasks],
        sorted((number[source], number[target]) for source, target in plan.edges),
        [roles.get(task.agent or "") for task in plan.tasks],
    )


def merrow(**changes: Any) -> dict[str, Any]:
    return {**merrow_form(DIAMOND), **changes}


def tasks(**changes: dict[str, Any]) -> dict[str, Any]:
    """The diamond with fields of its tasks changed."""
    said = [{**task, **changes.get(task["id"], {})} for task in merrow()["tasks"]]
    return merrow(tasks=said)


@given(plans(), st.sampled_from(FORMS))
def test_every_form_says_the_same_plan(plan: TaskGraph, form: Any) -> None:
    found = read(form(plan))
    assert shape(found.graph) == shape(plan)
    assert not found.notes


@given(
    plans(),
    st.sampled_from(FORMS),
    st.text(),
    st.text(),
    st.sampled_from(["{}", "```json\n{}\n```", "[{}]", '{{"plan": {}}}']),
)
def test_a_plan_is_found_amid_prose(plan: TaskGraph, form: Any, before: str, behind: str, around: str) -> None:
    before = before.replace("{", "(")
    text = before + around.replace("{{", "{").replace("}}", "}").replace("{}", answer(form(plan)), 1) + behind
    assert shape(read(text).graph) == shape(plan)


@pytest.mark.parametrize(
    "before",
    [
        'I answer in the form {"tasks": [...]}:\n',
        "You asked for {'tasks'} and {\"agents\"}.\n",
        answer(merrow_form(DIAMOND))[:-1] + ",}\nThat has a comma too many. Corrected:\n",
        "{\u00a0} ",
        f"By the schema {json.dumps(PLAN.schema)}:\n",
    ],
)
def test_what_is_no_plan_before_one_is_passed_over(before: str) -> None:
    found = read(before + answer(merrow_form(CHAIN)))
    assert shape(found.graph) == shape(CHAIN)


@given(plans(), st.sampled_from(FORMS), st.data())
def test_a_cut_answer_is_never_a_plan(plan: TaskGraph, form: Any, data: st.DataObject) -> None:
    text = answer(form(plan))
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    fenced = data.draw(st.booleans())
    found = read(f"```json\n{cut}\n```" if fenced else cut)
    assert found.graph is None
    begun = '{"' in "".join(cut.split())
    sentence = (
        "The answer is cut off: its JSON object is not closed." if begun else "It has no JSON object with `tasks`."
    )
    assert found.problems == (sentence,)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("{" * 20_000, 0),
        ("{x} { [" * 5_000, 0),
        ("{\n" * 20_000, 0),
        ('{"' * 20_000, 100),
        ('{"a": x}\n' * 5_000, 100),
        ("{\u00a0}\n" * 5_000, 100),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_few_braces_are_tried(text: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, at: int = 0) -> Any:
        tried.append(at)
        return decode(self, text, at)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert read(text).graph is None
    assert len(tried) == most
    if most == 0:
        assert shape(read(text + answer(merrow_form(DIAMOND))).graph) == shape(DIAMOND)


def test_a_cut_answer_is_named_as_such() -> None:
    assert read(answer(flow_form(DIAMOND))[:-30]).problems == ("The answer is cut off: its JSON object is not closed.",)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["A", "B", "Agent 0"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "tasks",
                    "workflow",
                    "agents",
                    "id",
                    "objective",
                    "agent",
                    "agent_id",
                    "after",
                    "next",
                    "prev",
                    "subtasks",
                    "role",
                    "subtask_dependencies",
                    "parent",
                    "child",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=6,
        )
    ),
    max_leaves=40,
)


@given(JSON | st.text())
def test_whatever_the_answer_says_a_plan_keeps_to_its_promises(said: Any) -> None:
    bounds = PlanBounds(max_nodes=3, max_agents=2)
    for needs in (True, False):
        found = read(said if isinstance(said, str) else answer(said), PlanBounds(3, 2, (), needs_agents=needs))
        assert (found.graph is None) == bool(found.problems)
        if found.graph is not None:
            ids = found.graph.ids
            assert 0 < len(set(ids)) == len(ids) <= bounds.max_nodes
            assert {one for edge in found.graph.edges for one in edge} <= set(ids)
            assert all(task.objective.strip() and (task.agent is not None or not needs) for task in found.graph.tasks)
            assert len(found.graph.agents) <= 2
            settled: set[str] = set()
            while len(settled) < len(ids):
                ready = {task.id for task in found.graph.tasks if settled.issuperset(task.after)} - settled
                assert ready, "a cycle"
                settled |= ready


@pytest.mark.parametrize(
    "text", ["{" * 100_000, '{"a":' * 100_000, '{"tasks": [' + "[" * 100_000, '{"x": "' + "\\" * 100_001, "1" * 5_000]
)
def test_huge_answers_are_survived(text: str) -> None:
    assert read(text).problems


def test_huge_numbers_are_survived() -> None:
    text = answer(tasks(A={"agent": 7})).replace("7", "7" * 10_000)
    assert read(text).problems == ("Task `A` has no agent.",)


ASKED_AGAIN = [
    (tasks(B={"after": ["A", "Z"]}), "Task `B` names `Z`, which is not the id of a task."),
    (tasks(A={"after": ["D"]}), "The tasks wait for each other: `A` -> `B` -> `D` -> `A`. Remove one of these dependencies."),
    (tasks(B={"after": ["B"]}), "Task `B` needs its own result."),
    (tasks(B={"id": "A"}), "Two tasks have the id `A`; give each its own."),
    (tasks(B={"id": None}), "Task 2 has no id."),
    (tasks(A={"agent": -1}), "Task `A` has the agent -1; agents are counted from 0."),
    (tasks(A={"agent": None}), "Task `A` has no agent."),
    (tasks(A={"agent": "nobody"}), "Task `A` has the agent `nobody`, which is not in `agents`."),
    (tasks(A={"objective": "  "}), "Task `A` has no objective; say what it is to do."),
    (merrow(tasks=[]), "It has no task."),
    ({"workflow": {}, "agents": []}, "It has no task."),
    (flow_form(plan_of("ABC", "AB", "BC")) | {"agents": []}, "Task `A` has the agent `0`, which is not in `agents`."),
    ("I can't do that.", "It has no JSON object with `tasks`."),
    ("{}", "It has no JSON object with `tasks`."),
    ('{"tasks": oops}', "It is not JSON. Line 1, column 11: Expecting value."),
    (
        answer(flow_form(DIAMOND)).replace('"B": {', '"A": {', 1),
        "The key `A` occurs twice in one object; give each task its own.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("said", "sentence"), ASKED_AGAIN)
def test_asked_again_with_the_sentence(said: object, sentence: str) -> None:
    found = read(said)
    assert found.graph is None
    assert sentence in found.problems


def test_sixty_one_tasks_are_too_many() -> None:
    said = merrow(tasks=[{"id": number, "objective": "x", "agent": "solver", "after": []} for number in range(61)])
    assert read(said).problems == ("It has 61 tasks; write at most 50.",)
    assert read(said, PlanBounds(max_nodes=61)).graph is not None
    assert read(said, PlanBounds(max_nodes=60)).graph is None


def test_roles_and_agents_are_bounded() -> None:
    said = merrow(agents=[{"id": "a", "role": "Coder"}, {"id": "b", "role": "Tester"}, {"id": "c", "role": "Idle"}])
    for number, task in enumerate(said["tasks"]):
        task["agent"] = "ab"[number % 2]
    assert read(said, PlanBounds(max_agents=2, roles=("coder", "TESTER"))).graph is not None
    assert read(said, PlanBounds(max_agents=1)).problems == ("It has 2 agents; use at most 1.",)
    wrong = read(said, PlanBounds(roles=("coder",))).problems
    assert wrong == ("The agent `b` has the role `Tester`; the roles are coder.",)


@pytest.mark.parametrize("agent", ["Agent 1", "agent_1", 1, "1", 1.0, " AGENT-1 "])
def test_agents_by_number(agent: object) -> None:
    said = merrow(agents=[{"id": 0, "role": "None"}, {"id": "Agent 1", "role": "Solver"}])
    for task in said["tasks"]:
        task["agent"] = agent
    assert shape(read(said).graph) == shape(DIAMOND)


def test_edges_of_one_end_are_taken_and_noted() -> None:
    said: Any = flow_form(DIAMOND)
    said["workflow"]["B"]["prev"] = []
    said["workflow"]["C"]["next"] = []
    found = read(said)
    assert shape(found.graph) == shape(DIAMOND)
    assert found.notes == (
        "Only `next` says the dependency `A` -> `B`; it is taken.",
        "Only `prev` says the dependency `C` -> `D`; it is taken.",
    )


def test_a_plan_none_of_whose_dependencies_can_be_read_is_asked_for_again_and_of_a_file_comes_last() -> None:
    unreadable = {name: {"after": [None, {}]} for name in "BCD"}
    found = read(tasks(**unreadable))
    assert found.graph is None
    assert "None of its dependencies can be read" in found.problems[0]
    in_file = [
        read_plans(text, PlanBounds())[0] for text in (json.dumps(tasks(**unreadable)), answer(merrow_form(DIAMOND)))
    ]
    plans = usable([written(number, one, "task") for number, one in enumerate(in_file, 1)])
    for rule in RULES:
        assert [one.candidate.number for one in in_order(plans, rule, None)] == [2, 1]


def test_the_first_of_two_plans_counts() -> None:
    found = read(answer(merrow_form(plan_of("AB", "AB"))) + " or " + answer(merrow_form(DIAMOND)))
    assert shape(found.graph) == shape(plan_of("AB", "AB"))
    assert found.notes == ("Only the first plan of the answer is read.",)


def test_awkward_texts_are_made_fit_for_files() -> None:
    found = read(tasks(A={"objective": " one\r\ntwo\x00\ud800three\ufeff "}, B={"output_format": 7}))
    assert found.graph is not None
    assert found.graph.tasks[0].objective == "one\ntwo  three"
    assert found.graph.tasks[1].output_format == ""


def test_sentences_show_no_more_of_an_id_than_fits() -> None:
    (sentence,) = read(tasks(A={"agent": "`" + "x" * 500 + "\n"})).problems
    assert len(sentence) < 120
    assert "\n" not in sentence


def test_published_candidates_are_read() -> None:
    files = sorted(FLOW.glob("*.candidates.json"))
    if not files:
        pytest.skip("the corpus is not here")
    for file in files:
        text = file.read_text(encoding="utf-8")
        found = read_plans(text, PlanBounds(needs_agents=False))
        known = json.loads(text)["candidates"]
        assert len(found) == len(known) == 10
        for one, candidate in zip(found, known, strict=True):
            assert one.graph is not None
            if "metrics" in candidate:
                assert len(one.graph.tasks) == candidate["metrics"]["nodes"]
                assert len(one.graph.edges) == candidate["metrics"]["edges"]
                assert not one.notes
            else:
                assert one.notes == tuple(
                    f"A dependency without both ends was left out (`null -> {number}`)." for number in range(4)
                )


def test_published_task_dictionaries_are_read() -> None:
    files = sorted(FLOW.glob("*.initflow.json"))
    if not files:
        pytest.skip("the corpus is not here")
    for file in files:
        (found,) = read_plans(file.read_text(encoding="utf-8"), BOUNDS)
        assert found.graph is not None
        assert not found.notes
        assert all(agent.role for agent in found.graph.agents)
        assert dictionary_form(found.graph).keys() == set(found.graph.ids)
