"""Loops and Maps in editors: hover, completion, signature help, names, outline, hints, colours."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import drawn, marked, slice_of
from tests.composites import composite_workflows

from merrow_analysis.check import analyse
from merrow_analysis.ide.completion.completion import complete, documentation
from merrow_analysis.ide.completion.signature_help import signature_help
from merrow_analysis.ide.folding import folds
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.inlay_hints import inlay_hints
from merrow_analysis.ide.names.call_hierarchy import incoming
from merrow_analysis.ide.names.definition import definition
from merrow_analysis.ide.names.references import references
from merrow_analysis.ide.names.rename import RenameRefusedError, rename
from merrow_analysis.ide.picture import picture
from merrow_analysis.ide.selection_ranges import selections
from merrow_analysis.ide.semantic_tokens import TokenMemory, semantic_tokens
from merrow_analysis.ide.symbols import outline
from merrow_analysis.text import Position, Range, apply_edits

FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PLAN@{ op: Custom, returns: 'list[Text]' }
    subgraph PARTS[The parts]
        PART["Custom<br/>"]
        subgraph REFINE["Loop (max: 4, until: REVIEW.result)"]
            WRITE["Custom<br/>(role: writer)"]
            REVIEW["Review<br/>"]
            CHECK{Good?}:::DecisionOp
        end
    end
    class PARTS MapOp
    SUM["Custom<br/>"]
    PROBLEM --> PLAN
    PLAN -->|each| PART
    PART --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    WRITE -->|value| CHECK
    REVIEW -->|result:when| CHECK
    CHECK -->|no:again:input| WRITE
    REVIEW -.->|again:feedback:input| WRITE
    CHECK -->|yes| SUM
    WRITE -->|over| SUM
    SUM --> RETURN
    classDef Interface fill:#eee
"""


def at(place: str, text: str = FLOW) -> str:
    """The workflow with the cursor where ``place`` has it."""
    plain = place.replace("<|>", "")
    assert text.count(plain) == 1, plain
    return text.replace(plain, place)


def shown(place: str) -> tuple[str, str]:
    here = marked(at(place))
    found = hover(here.analysis, here.position)
    assert found is not None
    under = drawn(here.text, [found.range]).split("\n")
    begin = under[1].index("^")
    return under[0][begin : under[1].rindex("^") + 1], found.text.plain()


def test_hover_of_a_loop_says_when_it_ends() -> None:
    under, text = shown("subgraph REF<|>INE")
    assert under == "REFINE"
    for part in (
        "REFINE is a Loop: its nodes run in turns, 4 at most.",
        "- when CHECK takes yes, which leads to SUM",
        "- after a turn in which REVIEW.result holds",
        "- after 4 turns; then over leads to SUM",
        "- CHECK.no -> WRITE.input",
        "- REVIEW.feedback -> WRITE.input",
        "- max: 4: How many turns at most.",
        "- on_error: fail (default): ",
    ):
        assert part in text, text
    assert "budget" not in text


def test_hover_of_a_map_says_what_its_items_are() -> None:
    under, text = shown("class PAR<|>TS")
    assert under == "PARTS"
    assert "PARTS is a Map: its nodes run once for each item of PLAN.response (Text)." in text
    assert "- max: 100 (default): " in text


def test_hover_of_a_title() -> None:
    assert shown('["Lo<|>op (max')[1] == shown("subgraph REF<|>INE")[1]
    under, text = shown("un<|>til: REV")
    assert (under, "Ends the Loop after the turn in which it holds" in text) == ("until", True)
    assert shown("until: REV<|>IEW.res")[0] == "REVIEW"


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        (
            "PLAN --><|>|each| PART",
            [
                "PLAN.response -> PART.input : Text (inferred, each)",
                "each: takes the list apart, an item for each run of PARTS: list[Text] becomes Text.",
            ],
        ),
        (
            "REVIEW -.-<|>>|again:feedback",
            [
                "REVIEW.feedback -> WRITE.input : Feedback (written, again)",
                "again: brings it in later turns of REFINE. It orders nothing, and nothing waits for it.",
            ],
        ),
        (
            "WRITE --<|>>|over| SUM",
            [
                "over: taken only when the turns of REFINE ran out.",
                "Leaves PARTS: brings the values of all items as a list: Text becomes list[Text].",
            ],
        ),
        ("CHECK --<|>>|yes| SUM", ["case yes", "Leaves PARTS"]),
    ],
)
def test_hover_of_an_edge_says_what_its_word_means(place: str, parts: list[str]) -> None:
    text = shown(place)[1]
    for part in parts:
        assert part in text, text


def offered(text: str) -> list[str]:
    here = marked(text)
    return [item.label for item in complete(here.analysis, here.position).items]


@pytest.mark.parametrize(
    ("place", "words", "never"),
    [
        ("REVIEW -.->|<|>again:feedback:input| WRITE", ["again"], ["over", "each", "first"]),
        ("PROBLEM -->|<|>problem| REVIEW", ["each"], ["again", "over", "first"]),
        ("WRITE -->|<|>over| SUM", ["over"], ["again", "each", "first"]),
        ("PART --><|> WRITE", [], []),
        ("CHECK -->|no:<|>again:input| WRITE", ["again"], ["over", "each"]),
        ("CHECK -->|<|>yes| SUM", ["yes"], ["again", "over"]),
    ],
)
def test_words_are_offered_where_they_mean_something(place: str, words: list[str], never: list[str]) -> None:
    labels = offered(at(place))
    assert set(words) <= set(labels), labels
    assert not set(never) & set(labels), labels


def test_what_follows_a_word_is_completed_as_without_it() -> None:
    assert offered(at("PLAN -->|each:<|>| PART", FLOW.replace("|each|", "|each:|")))[0] == "input"
    labels = offered(at("REVIEW -.->|again:<|>feedback:input| WRITE"))
    assert "feedback:input" in labels or "input" in labels
    assert "again" not in labels
    text = at("-.->|again:feedback:<|>input| WRITE")
    assert offered(text)[0] == "input"


def test_first_is_offered_where_something_comes_again() -> None:
    text = FLOW.replace("PART --> WRITE", "PART -->|<|>| WRITE")
    assert "first" in offered(text)


@pytest.mark.parametrize(
    ("line", "wanted", "never"),
    [
        ('subgraph X["<|>', ["Loop", "Map"], []),
        ('subgraph X["Loop (<|>', ["max", "until", "best", "budget", "on_error"], ["parallel", "op"]),
        ('subgraph X["Map (max: 3, <|>', ["parallel", "min", "on_error"], ["max", "until"]),
        ('subgraph X["Loop (on_error: <|>', ["fail", "skip"], ["default"]),
        ('subgraph X["Map (min: <|>', ["1"], []),
        ("PARTS@{ <|> }", ["max", "parallel"], ["until"]),
        ("REFINE@{ <|> }", ["max", "until"], ["parallel"]),
        ("REFINE@{ until: <|> }", ["REVIEW.result", "WRITE.response"], ["PLAN.response"]),
        ('subgraph REFINE["Loop (until: REV<|>', ["REVIEW.result"], []),
    ],
)
def test_parameters_are_offered(line: str, wanted: list[str], never: list[str]) -> None:
    if line.startswith("subgraph REFINE"):
        text = FLOW.replace('subgraph REFINE["Loop (max: 4, until: REVIEW.result)"]', line)
    else:
        text = f"{FLOW}{line}\n"
    labels = offered(text)
    assert set(wanted) <= set(labels), labels
    assert not set(never) & set(labels), labels


def test_every_offered_parameter_and_word_is_explained() -> None:
    for text in (
        f'{FLOW}subgraph X["Map (<|>',
        f"{FLOW}REFINE@{{ <|> }}",
        at("REVIEW -.->|<|>again:feedback:input| WRITE"),
    ):
        here = marked(text)
        for item in complete(here.analysis, here.position).items:
            if item.kind in ("key", "keyword"):
                assert documentation(here.analysis, item.subject), item.label


def test_the_choice_of_a_bool_comes_first_in_until() -> None:
    assert offered(f"{FLOW}REFINE@{{ until: <|> }}\n")[0] == "REVIEW.result"


@pytest.mark.parametrize(
    ("line", "label", "active"),
    [
        ('subgraph X["Loop (<|>', "Loop (max, until, best, budget, on_error)", None),
        ('subgraph X["Loop (max: <|>', "Loop (max, until, best, budget, on_error)", "max"),
        ('subgraph X["Map (max: 3, parallel: <|>', "Map (parallel, max, min, on_error)", "parallel"),
    ],
)
def test_signature_help_in_titles(line: str, label: str, active: str | None) -> None:
    here = marked(FLOW + line)
    found = signature_help(here.analysis, here.position)
    assert found is not None
    assert found.label == label
    assert (None if found.active is None else found.parameters[found.active].key) == active


def test_no_signature_for_a_free_title() -> None:
    here = marked(f'{FLOW}subgraph X["Notes (<|>')
    assert signature_help(here.analysis, here.position) is None


def test_names_in_metadata_of_a_loop_and_not_in_its_strings() -> None:
    text = FLOW.replace(", until: REVIEW.result", "").replace(
        "class PARTS MapOp", "class PARTS MapOp\n    REFINE@{ until: \"REVIEW.feedback == 'REVIEW.' and CHECK\" }"
    )
    here = marked(at("RE<|>VIEW.feedback", text))
    changed = apply_edits(here.text, rename(here.analysis, here.position, "JUDGE").edits)
    assert "until: \"JUDGE.feedback == 'REVIEW.' and CHECK\"" in changed


def test_what_only_a_node_names_is_not_named_by_the_metadata_of_a_box_or_an_edge() -> None:
    for named in ("PARTS", "e1"):
        text = FLOW.replace("PROBLEM --> PLAN", f"PROBLEM e1@--> PLAN\n    {named}@{{ role: writer }}")
        here = marked(at("role: wri<|>ter)", text))
        assert [one.range.start.line for one in references(here.analysis, here.position)] == [7], named


def test_a_name_that_no_expression_can_say_is_refused() -> None:
    here = marked(at("until: REV<|>IEW.result"))
    with pytest.raises(RenameRefusedError):
        rename(here.analysis, here.position, "RE-VIEW")


def test_a_box_is_renamed_wherever_it_is_named() -> None:
    text = FLOW.replace("    SUM[", "    PARTS@{ view: collapsed }\n    style PARTS fill:#eee\n    SUM[")
    here = marked(at("subgraph PAR<|>TS[", text))
    changed = apply_edits(here.text, rename(here.analysis, here.position, "PIECES").edits)
    for line in ("subgraph PIECES[", "class PIECES MapOp", "PIECES@{ view", "style PIECES"):
        assert line in changed
    assert "PARTS" not in changed


def test_a_box_is_the_parent_of_its_nodes() -> None:
    (parts,) = [entry for entry in outline(analyse(FLOW)) if entry.kind == "subgraph"]
    assert (parts.name, parts.detail) == ("PARTS", "Map: The parts")
    assert [child.name for child in parts.children] == ["PART", "REFINE"]
    refine = parts.children[1]
    assert refine.detail == "Loop (max: 4, until: REVIEW.result)"
    assert [child.name for child in refine.children] == ["WRITE", "REVIEW", "CHECK"]


def test_edges_back_are_callers() -> None:
    assert [one.item.id for one in incoming(analyse(FLOW), "WRITE")] == ["PART", "CHECK", "REVIEW"]


def test_hints_say_how_types_change_and_which_bounds_hold() -> None:
    analysis = analyse(FLOW)
    hints = {hint.position.line: hint.text for hint in inlay_hints(analysis, Range(Position(0, 0), Position(99, 0)))}
    lines = FLOW.split("\n")
    by_text = {lines[line].strip(): text for line, text in hints.items()}
    assert by_text["PLAN -->|each| PART"] == "input: list[Text] → Text"
    assert by_text["WRITE -->|over| SUM"] == "input: Text → list[Text]"
    assert by_text["subgraph PARTS[The parts]"] == " Map, up to 100 items"
    assert 'subgraph REFINE["Loop (max: 4, until: REVIEW.result)"]' not in by_text


@pytest.mark.parametrize("kind", ["Query", "Found"])
def test_what_leaves_a_map_is_of_the_kind_of_its_case(kind: str) -> None:
    text = f"""---
workflow:
  types: {{Query: Text, Found: {{title: Text}}, Step: Query | Found}}
---
flowchart TD
    PROBLEM([Problem]) -->|input| LIST -->|each:input| THINK
    LIST@{{ op: Custom, prompt: List., returns: "list[Text]" }}
    subgraph EACH["Map ()"]
        THINK@{{ op: Custom, prompt: Think., returns: Step }}
        WHICH{{Which?}}:::DecisionOp
        THINK --> WHICH
    end
    WHICH --<|>>|{kind}| ALL[Assemble]
    ALL --> RETURN([Return])
"""
    here = marked(text)
    found = hover(here.analysis, here.position)
    assert found is not None
    assert f"as a list: {kind} becomes list[{kind}]." in found.text.plain()
    line = inlay_hints(here.analysis, Range(Position(here.position.line, 0), Position(here.position.line, 99)))
    assert [one.text for one in line] == [f"results: {kind} → list[{kind}]"]


def coloured(text: str, line: str) -> list[tuple[str, str]]:
    number = next(number for number, one in enumerate(text.split("\n")) if one.strip() == line)
    whole = text.split("\n")[number]
    return [
        (whole[token.column : token.column + token.length], token.kind)
        for token in semantic_tokens(analyse(text))
        if token.line == number
    ]


def test_words_and_parameters_are_coloured() -> None:
    assert coloured(FLOW, "REVIEW -.->|again:feedback:input| WRITE") == [
        ("REVIEW", "node"),
        ("-.->|", "arrow"),
        ("again", "keyword"),
        (":feedback:input", "port"),
        ("|", "arrow"),
        ("WRITE", "node"),
    ]
    assert ("again", "keyword") in coloured(FLOW, "CHECK -->|no:again:input| WRITE")
    title = coloured(FLOW, 'subgraph REFINE["Loop (max: 4, until: REVIEW.result)"]')
    assert {("max", "parameter"), ("4", "number"), ("until", "parameter"), ("REVIEW", "node")} <= set(title)


def test_colours_follow_when_a_subgraph_becomes_a_loop() -> None:
    before, after = FLOW.replace("Loop (max: 4, until: REVIEW.result)", "Loop"), FLOW
    memory = TokenMemory()
    for text in (before, after, before):
        analysis = analyse(text)
        tokens = [
            token._replace(line=token.line + block.line) for block, row in memory.tokens(analysis) for token in row
        ]
        assert tokens == semantic_tokens(analysis)


def test_a_parameter_of_a_title_is_selected_step_by_step() -> None:
    here = marked(at("max: <|>4, until"))
    said = [slice_of(here.text, place) for place in selections(here.analysis, here.position)]
    assert said[:3] == ["4", "max: 4", "Loop (max: 4, until: REVIEW.result)"]


def test_edges_back_are_in_the_picture_with_what_they_bring() -> None:
    edges = {edge.id: edge for edge in picture(analyse(FLOW)).edges}
    again = edges["L_REVIEW_WRITE_0"]
    assert again.typed is not None
    assert (again.typed.word, again.typed.port, again.typed.type) == ("again", "input", "Feedback")


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(composite_workflows(), st.data())
def test_every_feature_survives_every_place_of_half_typed_boxes(text: str, data: st.DataObject) -> None:
    for _ in range(4):
        cut = data.draw(st.integers(0, len(text)))
        rest = data.draw(st.sampled_from(["", text[cut:], text[cut + 3 :]]))
        analysis = analyse(text[:cut] + rest)
        lines = (text[:cut] + rest).split("\n")
        here = Position(text[:cut].count("\n"), cut - (text.rfind("\n", 0, cut) + 1))
        for position in (here, Position(data.draw(st.integers(0, len(lines) - 1)), data.draw(st.integers(0, 40)))):
            for item in complete(analysis, position).items:
                if item.subject:
                    documentation(analysis, item.subject)
            hover(analysis, position)
            signature_help(analysis, position)
            definition(analysis, position)
            references(analysis, position)
            selections(analysis, position)
        outline(analysis)
        folds(analysis)
        picture(analysis)
        inlay_hints(analysis, Range(Position(0, 0), Position(len(lines), 0)))
        assert semantic_tokens(analysis) is not None


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(composite_workflows(), st.data())
def test_a_renamed_node_or_box_leaves_a_workflow_as_good_as_before(text: str, data: st.DataObject) -> None:
    before = analyse(text)
    assert before.is_valid
    assert before.typed is not None
    name = data.draw(st.sampled_from([*before.typed.composites.boxes, *before.typed.composites.inside]))
    line = next(number for number, one in enumerate(text.split("\n")) if re.search(rf"\b{name}\b", one))
    column = re.search(rf"\b{name}\b", text.split("\n")[line]).start()  # type: ignore[union-attr]  # it is there
    after = analyse(apply_edits(text, rename(before, Position(line, column), "RENAMED").edits))
    assert after.is_valid
    assert after.typed is not None
    said = json.dumps([sorted(before.typed.composites.boxes), sorted(before.typed.composites.inside.items())])
    renamed = json.dumps([sorted(after.typed.composites.boxes), sorted(after.typed.composites.inside.items())])
    assert sorted(re.sub(rf"\b{name}\b", "RENAMED", said)) == sorted(renamed)


@pytest.mark.parametrize("empty", ["best: ", "until: "])
def test_an_empty_expression_ends_nothing(empty: str) -> None:
    here = marked(
        FLOW.replace("Loop (max: 4, until: REVIEW.result)", f"Loop (max: 4, {empty})").replace("REFINE[", "REF<|>INE[")
    )
    found = hover(here.analysis, here.position)
    assert found is not None
    said = found.text.plain().partition("Parameters")[0]
    assert "4 turns" in said
    assert "empty" not in said


def test_fields_are_offered_in_expressions() -> None:
    text = """---
workflow:
  types:
    Score: {points: Number, of: Part}
    Part: {size: Number}
---
flowchart TD
    subgraph L["Loop (best: <|>)"]
        A@{ op: Custom, role: a, returns: Score }
    end
    PROBLEM --> A -.->|again| A --> RETURN
"""
    assert {"A.points", "A.of", "A.of.size", "A.response.points"} <= set(offered(text))
    assert "A.response.of.size" not in offered(text)
    assert "A.response.of.size" in offered(text.replace("<|>", "A.response.of.<|>"))


def test_fields_are_offered_where_each_takes_a_list_apart() -> None:
    text = """---
workflow:
  types:
    Book: {title: Text, tags: 'list[Text]'}
    Shelf: {books: 'list[Book]', note: Text}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Answer]):::Interface
    A["Custom<br/>(prompt: a, returns: RETURNS)"]
    subgraph M["Map (max: 5)"]
        B["Custom<br/>(prompt: b)"]
    end
    PROBLEM -->|input| A
    A -->|LABEL| B
    B --> RETURN
    classDef Interface fill:#e2e2f2
"""
    shelf, books = text.replace("RETURNS", "Shelf"), text.replace("RETURNS", "'list[Book]'")
    assert {"title:", "tags:"} <= set(offered(shelf.replace("LABEL", "each:books.<|>")))
    assert "title:input" in offered(books.replace("LABEL", "each:<|>"))
    assert "title:" not in offered(shelf.replace("LABEL", "books.<|>"))
    found = marked(shelf.replace("LABEL", "each:books.title:in<|>put"))
    shown = hover(found.analysis, found.position)
    assert shown is not None
    assert "list[Book] becomes Text" in shown.text.plain().replace("`", "")
