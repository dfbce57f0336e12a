"""Completion: what is offered where, in which order, and what it makes of the text."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked
from tests.analysis.ide.meaning import errors
from tests.breakage import broken
from tests.strategies import any_flowcharts

from merrow_analysis.check import analyse
from merrow_analysis.ide.completion.completion import complete, documentation
from merrow_analysis.ide.completion.items import Completion
from merrow_analysis.text import Position, apply_edits, line_content, split_lines

WORKFLOW = """---
workflow:
  types: {Draft: Text, Route: [math, code]}
  prompts:
    solver: |
      Solve it.
    Critic: Judge it.
---
flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE["Custom<br/>(role: solver)"]
    P["Programmer"]
    T["Test"]:::TestOp
    CHECK{ok?}:::DecisionOp
    ENS["ScEnsemble"]:::ScEnSembleOp
    ROUTE["Custom<br/>(role: solver, returns: Route)"]
    BY{which?}:::DecisionOp
    RETURN([Return]):::Interface
    classDef fancy fill:#eee
    T --> CHECK
    PROBLEM --> SOLVE
    SOLVE --> ENS --> RETURN
    PROBLEM --> ROUTE --> BY
"""

WITH_FRONT_MATTER = [
    text
    for path in sorted((Path(__file__).resolve().parents[3] / "examples").rglob("*.mmd"))
    if (text := path.read_text("utf-8")).startswith("---\n")
]


def offered(text: str) -> list[Completion]:
    here = marked(text)
    return complete(here.analysis, here.position).items


def labels(line: str) -> list[str]:
    """What is offered at the cursor of a line at the end of the workflow, in order."""
    return [item.label for item in offered(WORKFLOW + line)]


def chosen(text: str, label: str) -> str:
    """The text after an item was chosen."""
    here = marked(text)
    item = next(item for item in complete(here.analysis, here.position).items if item.label == label)
    return apply_edits(here.text, [item.edit])


@pytest.mark.parametrize("header", ["flowchart", "flowchart-elk", "graph", "swimlane-beta"])
def test_every_header_is_offered_directions(header: str) -> None:
    assert {item.label for item in offered(f"{header} L<|>\n    A --> B\n")} >= {"LR"}


def test_an_arrow_goes_on_in_the_next_line() -> None:
    assert labels("    PROBLEM -->\n    |analysis| <|>")[0] == "P"


class TestNodes:
    def test_a_label_says_which_port_is_meant(self) -> None:
        assert labels("    PROBLEM -->|analysis| <|>")[0] == "P"
        assert labels("    PROBLEM -->|entry_point| <|>\n")[0] != "T", "a Problem is no EntryPoint"

    @pytest.mark.parametrize(
        "line", ["    SOLVE -->|x| <|>", "    SOLVE & P --> <|>", "    SOLVE -- t --> <|>", "    SOLVE ==> P & <|>"]
    )
    def test_after_every_kind_of_arrow(self, line: str) -> None:
        assert "T" in labels(line)

    def test_the_word_at_the_cursor_is_replaced(self) -> None:
        assert chosen(WORKFLOW + "    SOLVE --> RET<|>U", "RETURN").endswith("    SOLVE --> RETURN")

    def test_right_behind_the_arrow_a_space_is_written(self) -> None:
        assert chosen(WORKFLOW + "    SOLVE --><|>", "RETURN").endswith("SOLVE --> RETURN")

    def test_arrows_over_lines(self) -> None:
        assert labels("    PROBLEM\n      --> <|>")[0] == "P"

    def test_class_and_style_statements(self) -> None:
        assert labels("    class <|>")[0] in ("SOLVE", "P")
        assert "P" in labels("    class SOLVE,<|>")
        assert "SOLVE" not in labels("    class SOLVE,<|>")
        assert "P" in labels("    style <|>")
        assert "P" in labels("    click <|>")


class TestPorts:
    def test_other_outputs(self) -> None:
        assert "result:" in labels("    T -->|<|>| RETURN")
        assert labels("    T -->|result:<|>| BY") == ["value", "when"]

    def test_without_a_target(self) -> None:
        assert "problem" in labels("    PROBLEM -->|<|>")
        assert "entry_point" not in labels("    PROBLEM -->|<|>")

    def test_cases_after_a_decision(self) -> None:
        assert labels("    CHECK -->|<|>")[:2] == ["yes", "no"]
        assert labels("    BY -->|<|>")[:2] == ["math", "code"]
        assert labels("    BY -->|math| P\n    BY -->|<|>")[0] == "code"
        assert "after" in labels("    BY -->|math:<|>| P")


class TestClasses:
    def test_what_the_label_names_comes_first(self) -> None:
        assert labels("    class P <|>")[0] == "ProgrammerOp"
        assert labels("    class P Pro<|>")[0] == "ProgrammerOp"
        assert labels("    P:::<|>")[0] == "ProgrammerOp"
        assert "fancy" in labels("    class P <|>")

    def test_inputs_are_interfaces(self) -> None:
        assert labels("    class PROBLEM <|>")[0] == "Interface"


class TestParameters:
    def test_keys_in_a_half_typed_label(self) -> None:
        assert chosen(WORKFLOW + '    X["Custom<br/>(ro<|>', "role").endswith('X["Custom<br/>(role: ')
        assert "analysis" in labels('    X["Programmer<br/>(<|>')
        assert "analysis" not in labels('    X["Custom<br/>(<|>')
        assert "role" not in labels('    X["Custom<br/>(role: a, <|>')

    def test_prompt_names(self) -> None:
        assert labels('    X["Custom<br/>(role: <|>') == ["solver", "Critic"]
        assert labels('    X["Custom<br/>(seed: 1, role: so<|>)"]') == ["solver", "Critic"]
        assert labels("    X@{ op: Custom, role: <|> }") == ["solver", "Critic"]

    def test_values(self) -> None:
        assert labels("    X@{ on_error: <|>") == ["fail", "skip", "default"]
        assert "Draft" in labels("    X@{ op: Custom, returns: <|>")
        assert "Draft" in labels('    X["Custom<br/>(returns: <|>')
        assert labels('    X["Test<br/>(on_no_tests: <|>') == ["fail", "pass"]
        assert "cyl" in labels("    X@{ shape: <|> }")
        assert "Programmer" in labels("    X@{ op: <|>")
        assert "Custom" in labels('    X["<|>')

    def test_keys_in_metadata(self) -> None:
        assert "role" in labels("    X@{ op: Custom, <|>")
        assert "op" not in labels("    X@{ op: Custom, <|>")
        assert "analysis" in labels("    X@{\n      op: Programmer\n      <|>\n    }")
        assert "last" in labels("    X@{ memory: {<|>")
        assert "shape" in labels("    X@{ <|> }")

    def test_keys_of_subgraphs(self) -> None:
        part = "    subgraph part\n    PROBLEM\n    end\n"
        assert labels(part + "    part@{ <|> }") == ["op", "view"]
        assert labels(part + "    part@{ view: <|> }") == ["collapsed"]

    def test_nothing_in_free_text(self) -> None:
        assert labels("    PROBLEM([Pro<|>") == []
        assert labels('    X@{ op: Custom, prompt: "so<|>') == []


class TestFrontMatter:
    def test_keys(self) -> None:
        assert next(item.label for item in offered("---\n<|>\n---\nflowchart TD\n")) == "workflow"
        found = [item.label for item in offered("---\nworkflow:\n  model: x\n  <|>\n---\nflowchart TD\n")]
        assert "memory" in found
        assert "model" not in found

    def test_keys_before_it_is_closed(self) -> None:
        assert "memory" in [item.label for item in offered("---\nworkflow:\n  <|>")]
        for indent in ("", "  "):
            text = f"{indent}---\n{indent}workflow:\n{indent}  me<|>\n{indent}flowchart TD\nA --> B\n"
            assert "memory" in [item.label for item in offered(text)]
            assert "memory" not in [item.label for item in offered(text.replace("<|>", "") + "    A --> <|>\n")]

    def test_nested_keys(self) -> None:
        assert [item.label for item in offered("---\nworkflow:\n  budget: {usd: 1, <|>}\n---\n")] == [
            "tokens",
            "seconds",
        ]
        found = [item.label for item in offered("---\nworkflow:\n  operators:\n    Plan:\n      <|>\n---\n")]
        assert found == ["inputs", "outputs", "prompt", "template", "note"]

    def test_values(self) -> None:
        assert [item.label for item in offered("---\nworkflow:\n  memory: <|>\n---\n")][:3] == [
            "none",
            "all",
            "summary",
        ]
        found = offered("---\nworkflow:\n  operators:\n    P: {inputs: {x: <|>}}\n---\n")
        assert "Problem" in [item.label for item in found]
        found = offered("---\nworkflow:\n  inputs: [<|>]\n---\nflowchart TD\nPROBLEM --> RETURN\n")
        assert [item.label for item in found] == ["PROBLEM", "RETURN"]

    def test_nothing_where_a_value_goes_on_from_the_line_above(self) -> None:
        assert offered("---\nworkflow:\n  types: {Task: {length: N\n  prompts<|>\n---\n") == []

    def test_nothing_in_a_prompt(self) -> None:
        assert offered("---\nworkflow:\n  prompts:\n    a: |\n      write <|>\n---\nflowchart TD\n") == []


class TestOtherPlaces:
    def test_arrows_after_a_node(self) -> None:
        assert labels("    SOLVE <|>")[0] == "-->"
        assert chosen(WORKFLOW + "    SOLVE -<|>", "-->").endswith("SOLVE --> ")

    def test_directions(self) -> None:
        assert "LR" in [item.label for item in offered("flowchart <|>")]
        assert labels("    direction <|>")[0] == "TD"

    def test_rules_in_suppressions(self) -> None:
        assert labels("    %% merrow: ignore[<|>]\n    P --> T\n")[0] == "MW202", "what is wrong below comes first"
        assert (
            chosen("flowchart TD\n%% merrow: ignore[MW1<|>]\n", "MW105") == "flowchart TD\n%% merrow: ignore[MW105]\n"
        )
        assert labels("    %% mer<|>") == ["merrow: ignore", "merrow: ignore-file"]

    def test_an_empty_file(self) -> None:
        assert [item.label for item in offered("<|>")] == ["flowchart TD", "flowchart LR"]


def test_an_operator_brings_node_class_and_edges() -> None:
    text = WORKFLOW + "    Form<|>"
    after = chosen(text, "Format")
    assert after.endswith(
        '    FORMAT["Format<br/>"]\n'
        "    classDef FormatOp fill:#fff6c9,stroke:#a58c1a,stroke-width:2px\n"
        "    class FORMAT FormatOp\n"
        "    P -->|solution| FORMAT\n"
        "    P -->|problem| FORMAT"
    )
    item = next(item for item in offered(text) if item.label == "Format")
    assert item.snippet is not None
    assert item.snippet.startswith('${1:FORMAT}["Format<br/>"]')
    assert "class ${1:FORMAT} FormatOp" in item.snippet


def test_operators_make_no_new_errors_but_loose_ends() -> None:
    text = "flowchart TD\nPROBLEM([P]):::Interface\nENTRY_POINT([E]):::Interface\nRETURN([R]):::Interface\n"
    text += "S@{ op: Custom, role: a }\nC@{ op: CustomCodeGenerate, instruction: b }\nV@{ op: Review }\nPROBLEM --> S\n"
    for item in offered(text + "<|>"):
        if item.kind == "operator":
            after = analyse(apply_edits(text, [item.edit]))
            new = set(errors(after) - errors(analyse(text)))
            assert new <= {"MW102", "MW113", "MW401", "MW302", "MW117", "MW118", "MW301", "MW110", "MW227", "MW505"}, (
                item.label,
                new,
            )


def test_documentation_of_every_item() -> None:
    for line in (
        "    SOLVE --> <|>",
        "    <|>",
        "    X@{ op: Custom, <|>",
        "    PROBLEM -->|<|>| P",
        "    class P <|>",
        "    %% merrow: ignore[<|>]",
    ):
        here = marked(WORKFLOW + line)
        for item in complete(here.analysis, here.position).items:
            if item.subject:
                assert documentation(here.analysis, item.subject), item


@given(any_flowcharts, st.data())
@settings(max_examples=20, deadline=None)
def test_any_text_at_any_place(text: str, data: st.DataObject) -> None:
    line = data.draw(st.integers(0, len(split_lines(text))))
    _check_places(text, line, data)


@given(st.sampled_from(WITH_FRONT_MATTER), st.randoms(use_true_random=False), st.data())
@settings(max_examples=20, deadline=None)
def test_any_place_in_a_broken_front_matter(text: str, random: Random, data: st.DataObject) -> None:
    """What is typed in brackets that are still open goes on over the lines below."""
    front = text.split("---\n")[1]
    lines = front.split("\n")
    in_brackets = [number for number, line in enumerate(lines) if "{" in line or "[" in line]
    cut = random.choice(in_brackets or range(len(lines)))
    lines[cut] = lines[cut][: random.randint(0, len(lines[cut]))]
    text = text.replace(front, broken("\n".join(lines), random))
    _check_places(text, data.draw(st.integers(cut + 1, cut + 3)), data)


def _check_places(text: str, line: int, data: st.DataObject) -> None:
    """What is offered replaces a part of the cursor's line, with the cursor in it or at its edge."""
    lines = split_lines(text)
    length = len(line_content(lines[line])) if line < len(lines) else 0
    column = data.draw(st.integers(0, length))
    for item in complete(analyse(text), Position(line, column)).items:
        start, end = item.edit.range
        assert start.line == end.line == line
        assert 0 <= start.column <= column <= end.column <= length
