"""Agents in the front matter and at nodes: read, checked, repaired, offered, described and renamed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked
from tests.analysis.workflows import diagnose

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.rename import rename
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines
from merrow_optimizer.crossover.children import crossover

FRONT = "{role: UI designer, prompt: Use plain HTML., model: m, temperature: 0.5, instances: 2}"


def flow(agents: str, *lines: str) -> str:
    front = "".join(f"    {line}\n" for line in agents.split("\n") if line)
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"---\nworkflow:\n  agents:\n{front}---\nflowchart TD\n    PROBLEM([Problem]):::Interface\n{body}"
        "    RETURN([Result]):::Interface\n    PROBLEM --> A --> RETURN\n    classDef Interface fill:#eee\n"
    )


def found(text: str, *codes: str) -> list[Diagnostic]:
    return [one for one in diagnose(text) if one.code in (codes or ("MW310", "MW311", "MW317", "MW318"))]


def node(name: str) -> str:
    return f'A["Custom"]@{{ prompt: "Draw.", agent: {name} }}'


@pytest.mark.parametrize(
    ("agents", "code"),
    [
        ("ui: {prompt: x}", "MW311"),
        ("ui: designer", "MW311"),
        ("ui: {role: x, instances: 0}", "MW311"),
        ("ui: {role: x, temperature: 3}", "MW311"),
        ("ui: {role: x, tools: [web]}", "MW310"),
    ],
)
def test_agents_are_checked(agents: str, code: str) -> None:
    assert code in [one.code for one in found(flow(agents, node("ui")))]


def test_an_agent_that_nobody_names_is_a_hint() -> None:
    text = flow("a: {role: A}\nb: {role: B}", node("a"))
    (problem,) = found(text)
    assert (problem.code, "`b`" in problem.message) == ("MW318", True)
    assert not found(apply_edits(text, problem.fixes[0].edits))


def test_an_agent_that_another_one_hides_is_a_hint() -> None:
    text = flow("a: {role: A}\nA: {role: B}", node("A"))
    (problem,) = found(text)
    assert problem.message == (
        "Agent `A` is declared, but case does not count in its name, so nodes use `a`, which is declared first."
    )
    assert not found(apply_edits(text, problem.fixes[0].edits))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('A["Custom"]@{ prompt: x, agent: a, memory: agent }', None),
        ('A["Custom"]@{ prompt: x, memory: agent }', "MW406"),
        ('A["Custom<br/>(prompt: x, memory: agent)"]', "MW406"),
        ('A["Custom"]@{ prompt: x, memory: all }', None),
        ('A["Custom"]@{ prompt: x, agent: a, memory: agents }', "MW305"),
    ],
)
def test_memory_of_an_agent_needs_one(line: str, code: str | None) -> None:
    text = flow("a: {role: A}", line)
    problems = found(text, "MW305", "MW406")
    assert [one.code for one in problems] == ([] if code is None else [code])
    if code == "MW406":
        assert "no agent whose earlier results" in problems[0].message
        assert not found(apply_edits(text, problems[0].fixes[0].edits), "MW406", "MW305")


def test_memory_of_an_agent_is_offered_and_described() -> None:
    here = marked(flow("a: {role: A}", 'A["Custom"]@{ prompt: x, agent: a, memory: <|> }'))
    assert "agent" in [item.label for item in complete(here.analysis, here.position).items]
    front = flow("a: {role: A}", node("a")).replace("workflow:\n", "workflow:\n  memory: <|>\n")
    here = marked(front)
    assert "agent" in [item.label for item in complete(here.analysis, here.position).items]
    here = marked(flow("a: {role: A}", 'A["Custom"]@{ prompt: x, agent: a, mem<|>ory: agent }'))
    shown = hover(here.analysis, here.position)
    assert shown is not None
    assert "those of its own agent" in shown.text.markdown()


def test_a_plain_step_says_that_it_sees_the_results_of_its_agent() -> None:
    here = marked(flow("a: {role: A}", 'A["Write the p<|>age."]', "A@{ agent: a, memory: agent }"))
    shown = hover(here.analysis, here.position)
    assert shown is not None
    assert "the earlier results of its own agent" in shown.text.markdown()


def test_completion_offers_the_agents() -> None:
    here = marked(flow(f"ui: {FRONT}\neditor: {{role: Editor}}", 'A["Custom"]@{ agent: <|> }'))
    assert [item.label for item in complete(here.analysis, here.position).items] == ["ui", "editor"]


def test_completion_offers_the_keys_of_an_agent() -> None:
    here = marked(flow("ui:\n  <|>", node("ui")))
    offered = {item.label for item in complete(here.analysis, here.position).items}
    assert {"role", "prompt", "model", "temperature", "instances"} <= offered


@pytest.mark.parametrize("text", [flow(f"ui: {FRONT}", node("u<|>i")), flow(f"u<|>i: {FRONT}", node("ui"))])
def test_hover_says_who_an_agent_is(text: str) -> None:
    here = marked(text)
    shown = hover(here.analysis, here.position)
    assert shown is not None
    assert "Your role: UI designer." in shown.text.markdown()
    assert "instances" in shown.text.markdown()


def test_a_rename_reaches_all_its_places() -> None:
    here = marked(
        flow(f"u<|>i: {FRONT}", node("ui"), 'B["Custom<br/>(agent: UI, role: x)"]', "PROBLEM --> B --> RETURN")
    )
    done = rename(here.analysis, here.position, "designer")
    assert done is not None
    after = apply_edits(here.text, done.edits)
    assert list(analyse(after).settings.agents) == ["designer"]
    assert not found(after)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 40), st.sampled_from(["Designer", "Other"]), st.sampled_from(["", ", model: m"]))
def test_children_have_the_agents_of_their_nodes(seed: int, role: str, more: str) -> None:
    lines = ('A["Custom"]@{ prompt: a, agent: x }', 'B["Custom"]@{ prompt: b, agent: x }', "PROBLEM --> B --> A")
    host = analyse(flow("x: {role: Designer}", *lines))
    donor = analyse(flow(f"x: {{role: {role}{more}}}", *(line.replace("prompt: ", "prompt: other ") for line in lines)))
    for child in crossover(host, donor, seed):
        after = analyse(child.text)
        assert after.typed is not None
        assert not after.errors
        for one in after.typed.nodes:
            if one.kind != "operator":
                continue
            said = one.resolution.parameters
            agent = after.settings.agents[str(said["agent"].value).casefold()]
            wanted = (role, "m" if more else None) if "other" in str(said["prompt"].value) else ("Designer", None)
            assert (agent.role, agent.model) == wanted


def test_while_nodes_that_name_agents_and_validators_come_and_go_all_is_found_as_in_the_text_read_cold() -> None:
    line = '    B["Custom"]@{ agent: uo, validate: [v, w] }\n'
    text = flow("ui: {role: x}\n  validators:\n    v: {regex: a}", node("ui"), line.strip())
    analyser = Analyser(text)
    number = split_lines(text).index(line)
    codes = {one.code for one in analyser.analysis().diagnostics}
    assert {"MW317", "MW331"} <= codes, codes

    def change(start: int, end: int, new: str) -> None:
        nonlocal text
        edit = TextEdit(Range(Position(number, start), Position(number, end)), new)
        text = apply_edits(text, [edit])
        analyser.edit(edit)
        assert analyser.analysis().diagnostics == analyse(text).diagnostics, text

    for end in range(len(line) - 1, 0, -1):
        change(end - 1, end, "")
    for place, letter in enumerate(line.rstrip("\n")):
        change(place, place, letter)
    assert {one.code for one in analyser.analysis().diagnostics} == codes
    change(0, len(line) - 1, "")
