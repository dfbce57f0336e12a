"""What is offered for keys, values, prompts, front matter and syntax: its title, whether it is safe, and the text it gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.definitions.schema import LOOP_KEYS, MAP_KEYS, NODE_KEYS, OPERATOR_KEYS, WORKFLOW_KEYS, Fragment
from merrow_analysis.definitions.validation import violations
from merrow_analysis.diagnostics import Applicability
from merrow_analysis.rules.fixes.better_values import better_values
from merrow_analysis.text import Position, Range, TextEdit, apply_edits

FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface
    {node}
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    classDef CustomOp fill:#eee
    PROBLEM -->|input| A --> RETURN
"""


def fixes(text: str, code: str) -> list[tuple[str, bool, str]]:
    """Title, safety and result of the fixes of the first finding of a rule."""
    found = next(one for one in analyse(text).diagnostics if one.code == code)
    return [(fix.title, fix.applicability is Applicability.SAFE, apply_edits(text, fix.edits)) for fix in found.fixes]


@pytest.mark.parametrize(
    ("code", "node", "offered"),
    [
        ("MW304", "temprature: 1", [("Write temperature", "temperature: 1"), ("Remove temprature", "")]),
        ("MW304", "foo: 1, seed: 2", [("Remove foo", "seed: 2")]),
        ("MW305", "temperature: 3", [("Write temperature: 2", "temperature: 2"), ("Remove temperature", "")]),
        ("MW305", "samples: 0, seed: 1", [("Write samples: 1", "samples: 1, seed: 1"), ("Remove samples", "seed: 1")]),
        ("MW305", "retries: '3'", [("Write retries: 3", "retries: 3"), ("Remove retries", "")]),
        (
            "MW305",
            "on_error: skipp",
            [
                ("Write on_error: skip", "on_error: skip"),
                ("Write on_error: fail", "on_error: fail"),
                ("Write on_error: default", "on_error: default"),
                ("Remove on_error", ""),
            ],
        ),
        ("MW501", "base_url: x, seed: 1", [("Remove base_url", "seed: 1")]),
    ],
)
def test_metadata_of_a_node(code: str, node: str, offered: list[tuple[str, str]]) -> None:
    head = 'A["Custom<br/>(role: r)"]:::CustomOp'
    text = FLOW.format(node=f"{head}@{{ {node} }}")
    results = [FLOW.format(node=f"{head}@{{ {after} }}" if after else head) for _, after in offered]
    found = fixes(text, code)
    assert [(title, result) for title, _, result in found] == list(
        zip([title for title, _ in offered], results, strict=True)
    )
    assert [safe for _, safe, _ in found] == [code == "MW501"] * len(found)


@pytest.mark.parametrize(
    ("code", "label", "offered"),
    [
        ("MW308", "role solver", [("Write role: solver", False, "role: solver")]),
        ("MW308", "solve it", [("Write role: solve it", False, "role: solve it")]),
        ("MW307", "role: a, role: a", [("Remove the second role", True, "role: a")]),
        ("MW307", "role: a, role: b", [("Remove role: b", False, "role: a"), ("Remove role: a", False, "role: b")]),
        ("MW305", "role: a, temperature: 5", [("Write temperature: 2", False, "role: a, temperature: 2")]),
    ],
)
def test_parameters_in_a_label(code: str, label: str, offered: list[tuple[str, bool, str]]) -> None:
    node = 'A["Custom<br/>({})"]:::CustomOp'
    found = fixes(FLOW.format(node=node.format(label)), code)
    assert found[: len(offered)] == [
        (title, safe, FLOW.format(node=node.format(after))) for title, safe, after in offered
    ]


def test_a_value_that_must_not_stay_is_not_kept() -> None:
    text = FLOW.format(node='A["Custom<br/>(role: a, seed: x, seed: 1)"]:::CustomOp')
    assert [title for title, _, _ in fixes(text, "MW307")] == ["Remove seed: x"]


def test_prompts_for_roles() -> None:
    text = FLOW.format(node='A["Custom<br/>(role: simple_solver)"]:::CustomOp')
    [(title, safe, after)] = fixes(text, "MW302")
    assert (title, safe) == ("Add a prompt for role simple_solver to the front matter", False)
    assert after == '---\nworkflow:\n  prompts:\n    simple_solver: "Simple solver."\n---\n' + text
    assert analyse(after).diagnostics == []
    other = after.replace("(role: simple_solver)", "(role: writer)")
    titles = [title for title, _, _ in fixes(other, "MW301")]
    assert titles == ["Add prompt writer to the front matter", "Write a prompt at A"]


@pytest.mark.parametrize(
    ("code", "front", "offered"),
    [
        ("MW310", "modl: x", [("Write model", "model: x"), ("Remove modl", "")]),
        ("MW311", "inputs: {PROBLEM: Text}", [("Write inputs: [PROBLEM]", "inputs: [PROBLEM]"), ("Remove inputs", "")]),
        ("MW311", "memory: al", [("Write memory: all", "memory: all")]),
        ("MW311", "temperature: 9", [("Write temperature: 2", "temperature: 2"), ("Remove temperature", "")]),
        ("MW311", "refine: {on: [invalid, failur]}", [("Write failure", "refine: {on: [invalid, failure]}")]),
        ("MW403", "operators: {Foo: {outputs: {a: Text}}}", [("Remove operator Foo", "")]),
        ("MW501", "base_url: x", [("Remove base_url", "")]),
    ],
)
def test_front_matter(code: str, front: str, offered: list[tuple[str, str]]) -> None:
    flow = FLOW.format(node='A@{ op: Custom, prompt: "Do it." }')
    found = [(title, after) for title, _, after in fixes(f"---\nworkflow:\n  {front}\n---\n{flow}", code)]
    wanted = [
        (title, f"---\nworkflow:\n{f'  {after}' + chr(10) if after else ''}---\n{flow}") for title, after in offered
    ]
    assert found[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("refine: {on: [invalid, x]}", "Item 2 of `refine.on` must be failure or invalid, not `x`."),
        ("inputs: [1]", "Item 1 of `inputs` must be text that is not empty, not `1`."),
        ("refine: {every: x}", "`refine.every` must be a whole number of at least 0, not `x`."),
        (
            "validators: {v: [{if: 'len(output) > 1'}, {rubrik: x}]}",
            "There is no key `rubrik` in item 2 of `workflow.validators.v`; did you mean `rubric`?",
        ),
    ],
)
def test_items_of_lists_are_named_as_people_count_them(front: str, message: str) -> None:
    found = analyse(f"---\nworkflow:\n  {front}\n---\n" + FLOW.format(node='A["Custom (prompt: Do it.)"]:::CustomOp'))
    assert message in [one.message for one in found.diagnostics]


@pytest.mark.parametrize(
    ("before", "title"),
    [
        ("B[x] -->", "Lead it to RETURN"),
        ("A --> B -->", "Lead it to RETURN"),
        ("A --> RETURN -->", None),
        ("-->", None),
    ],
)
def test_an_arrow_at_the_end_of_the_text_may_lead_to_the_result(before: str, title: str | None) -> None:
    text = f"flowchart TD\n  RETURN([x])\n  {before}"
    assert [after for said, _, after in fixes(text, "MW001") if said == title] == ([f"{text} RETURN"] if title else [])
    assert title or not any(said.startswith("Lead") for said, _, _ in fixes(text, "MW001"))


@pytest.mark.parametrize(
    ("code", "text", "offered"),
    [
        ("MW001", "  A --> B\n  B -->\n", [("Remove the unfinished arrow", "  A --> B\n  B\n")]),
        (
            "MW001",
            "  A --> Read the mail\n",
            [("Write Read_the_mail[Read the mail]", "  A --> Read_the_mail[Read the mail]\n")],
        ),
        (
            "MW001",
            "  Read it -- no --> Stop-it now, please -->|x y| B\n",
            [
                (
                    "Put the words into brackets",
                    '  Read_it[Read it] -- no --> Stop_it_now_please["Stop-it now, please"] -->|x y| B\n',
                )
            ],
        ),
        ("MW001", "  A B\n", [("Write A --> B", "  A --> B\n")]),
        ("MW007", "A@{ shape: rect label: x }\n", [("Add a comma", "A@{ shape: rect, label: x }\n")]),
        ("MW007", "A@{ label: it's: a }\n", [("Put the value in quotes", 'A@{ label: "it\'s: a" }\n')]),
        ("MW013", "subgraph X\n  A\nB\n", [("Close it after its last indented line", "subgraph X\n  A\nend\nB\n")]),
        ("MW014", "A-->B\nlinkStyle 0,3 fill:#e\n", [("Write linkStyle 0", "A-->B\nlinkStyle 0 fill:#e\n")]),
    ],
)
def test_syntax(code: str, text: str, offered: list[tuple[str, str]]) -> None:
    found = [(title, after) for title, _, after in fixes(f"flowchart TD\n{text}", code)]
    assert found[: len(offered)] == [(title, f"flowchart TD\n{after}") for title, after in offered]


@pytest.mark.parametrize(
    "text", ["flowchart TD\n  A --> the 2 % of it\n", "flowchart TD    A --> Read the mail\n", "graph XY --> Read it\n"]
)
def test_what_are_no_words_alone_and_the_diagrams_own_first_words_are_not_put_into_brackets(text: str) -> None:
    assert not any("[" in title or "brackets" in title for title, _, _ in fixes(text, "MW001"))


def test_front_matter_that_is_no_yaml() -> None:
    text = "---\nworkflow:\n\tseed: 1\n---\nflowchart TD\nA --> B\n"
    assert fixes(text, "MW008") == [("Indent with spaces", True, text.replace("\t", "  "))]
    unclosed = "---\nworkflow: true\nflowchart TD\nA --> B\n"
    closed = "---\nworkflow: true\n---\nflowchart TD\nA --> B\n"
    assert fixes(unclosed, "MW010") == [("Close the front matter with ---", False, closed)]


FRAGMENTS: list[Fragment] = [
    fragment for keys in (NODE_KEYS, OPERATOR_KEYS, LOOP_KEYS, MAP_KEYS, WORKFLOW_KEYS) for fragment in keys.values()
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3)
)


@example(NODE_KEYS["memory"], "some")
@example(OPERATOR_KEYS["depth"], 0.5)
@example(WORKFLOW_KEYS["max_tokens"], 2.0**53 + 2)
@given(st.sampled_from(FRAGMENTS), VALUES)
def test_better_values_are_always_allowed(fragment: Fragment, value: Any) -> None:
    found = better_values(fragment, value)
    assert len(found) <= 5
    assert all(violations(fragment, one) == [] for one in found)


def test_fixes_of_findings_that_were_kept_are_those_of_the_text_as_it_is() -> None:
    last = '    A["Custom<br/>(role: r)"]'
    text = f"flowchart TD\n    PROBLEM -->|input| A\n    A --> RETURN\n{last}"
    analyser = Analyser(text)
    analyser.analysis()
    # The fixes that define a class write at the end of the text, which another role moves.
    place = Position(3, last.index(")"))
    analyser.edit(TextEdit(Range(place, place), "ole"))
    cold = analyse(text.replace("role: r", "role: role")).diagnostics
    assert any(one.code == "MW106" for one in cold)
    for warm, again in zip(analyser.analysis().diagnostics, cold, strict=True):
        assert (warm.code, list(warm.fixes)) == (again.code, list(again.fixes))


def test_fixes_are_made_only_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    import merrow_analysis.rules.fixes.prompt_fixes as prompts

    add = prompts.add_prompts
    monkeypatch.setattr(prompts, "add_prompts", lambda *given: made.append(given) or add(*given))
    analyser = Analyser(FLOW.format(node='A["Custom<br/>(role: r)"]:::CustomOp'))
    analyser.analysis()
    place = Position(2, 4)
    analyser.edit(TextEdit(Range(place, place), "  "))
    analysis = analyser.analysis()
    assert made == []
    found = next(one for one in analysis.diagnostics if one.code == "MW302")
    assert len(found.fixes) == len(list(found.fixes)) == len(made) == 1
