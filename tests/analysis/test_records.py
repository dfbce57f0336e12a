"""Records and unions: how they are declared, what their fields and kinds are to edges, and what is said of mistakes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.workflows import diagnose, edge, errors, told, typed, workflow

from merrow_analysis.check import analyse
from merrow_analysis.definitions.containment import DEEPEST, MOST_FIELDS
from merrow_analysis.definitions.declared_types import declare_types
from merrow_analysis.text import apply_edits

TYPES = """
workflow:
  types:
    Place: {city: Text, rank: Number}
    Verdict: {advice: Text, good: Bool, place: Place, marks: 'list[Number]', response: Text}
    Query: Text
    Search: {query: Text, place: Place}
    Step: Search | Query | Answer
  operators:
    Judge: {inputs: {text: Text}, outputs: {note: Text, verdict: Verdict}, prompt: Judge.}
"""


def flow(*lines: str) -> str:
    return workflow(*lines, front=TYPES)


@pytest.mark.parametrize(
    ("declared", "place", "word"),
    [
        ({"Task": {"size": "Numbr"}}, ("Task", "size"), "did you mean `Number`"),
        ({"Task": {"size": ["a", "b"]}}, ("Task", "size"), "needs a type by name"),
        ({"Task": {"size": {"inner": "Text"}}}, ("Task", "size"), "needs a type by name"),
        ({"Task": {1: "Text"}}, ("Task", 1), "can't name a field"),
        ({"Task": {"a.b": "Text"}}, ("Task", "a.b"), "can't name a field"),
        ({"Task": {"size": "Text", "SIZE": "Number"}}, ("Task", "SIZE"), "twice"),
        ({"Task": {}}, ("Task",), "no fields"),
        ({"Task": {"part": "Task"}}, ("Task", "part"), "Task -> Task"),
        ({"Task": {"parts": "list[list[Task]]"}}, ("Task", "parts"), "recursive"),
        (
            {"Task": {"part": "Part"}, "Part": {"whole": "Whole"}, "Whole": "Task"},
            ("Part", "whole"),
            "Task -> Part -> Task",
        ),
        ({"Task": {"step": "Step"}, "Step": "Task | Text"}, ("Step",), "Task -> Step -> Task"),
        ({"Step": "Text | Number | Kode"}, ("Step",), "did you mean `Code`"),
        ({"Step": "Text |"}, ("Step",), "missing"),
        ({"Step": "Text | text", "text": "Number"}, ("Step",), "twice"),
        ({"Step": "Text | Query", "Query": "Text"}, ("Step",), "every Query is a kind of Text"),
        ({"Step": "Any | Query", "Query": "Text"}, ("Step",), "every Query is a kind of Any"),
        ({"Step": "Json | Task", "Task": {"a": "Text"}}, ("Step",), "every Task is a kind of Json"),
        ({"Step": "list[Text] | Number"}, ("Step",), "called by one name"),
        ({"Step": "Inner | Number", "Inner": "Text | Bool"}, ("Step",), "name the kinds of `Inner`"),
        ({"Step": "Text | Else", "Else": "Number"}, ("Step",), "takes what no other case takes"),
    ],
)
def test_a_wrong_declaration_is_told_where_it_is_wrong(
    declared: dict[str, Any], place: tuple[object, ...], word: str
) -> None:
    _, problems = declare_types(declared)
    assert [problem.path for problem in problems] == [("types", *place)]
    assert word in problems[0].message


def test_there_are_bounds() -> None:
    wide = {f"field{number}": "Text" for number in range(MOST_FIELDS)}
    table, problems = declare_types({"Wide": wide})
    assert not problems
    assert len(table.fields_of("Wide") or ()) == MOST_FIELDS
    table, problems = declare_types({"Wide": {**wide, "more": "Text"}})
    assert [problem.path for problem in problems] == [("types", "Wide")]
    assert table.fields_of("Wide") is None
    assert table.fits("Wide", "Json")
    for depth, right in ((DEEPEST, True), (DEEPEST + 1, False)):
        nested: dict[str, Any] = {f"Level{n}": {"inner": f"Level{n + 1}"} for n in range(depth - 1)}
        nested[f"Level{depth - 1}"] = {"inner": "Text"}
        assert (not declare_types(nested)[1]) is right
    # Each level twice in the one above: 2 ** 8 fields are few, 2 ** 8 times more are not.
    doubled: dict[str, Any] = {f"Level{n}": {"a": f"Level{n + 1}", "b": f"Level{n + 1}"} for n in range(7)}
    assert not declare_types({**doubled, "Level7": {"a": "Text"}})[1]
    assert declare_types({**doubled, "Level7": {f"f{n}": "Text" for n in range(256)}})[1]


def test_records_thousands_deep_are_survived() -> None:
    deep = {f"Level{n}": {"inner": f"Level{n + 1}"} for n in range(3000)}
    table, problems = declare_types({**deep, "Level3000": {"inner": "Level0"}})
    assert problems
    assert table.fits("Level0", "Json")


NAMES = st.sampled_from(
    ["Alpha", "Beta", "Gamma", "Delta", "Text", "Number", "Json", "list[Alpha]", "Nope", "", 3, None]
)
MEANINGS = st.one_of(
    NAMES,
    st.lists(NAMES.map(str), min_size=1, max_size=3).map(" | ".join),
    st.dictionaries(st.sampled_from(["a", "A", "kind", "value", "__proto__", "a b", 1, True]), NAMES, max_size=4),
    st.lists(NAMES, max_size=3),
)


@settings(max_examples=75, deadline=None)
@given(st.dictionaries(st.sampled_from(["Alpha", "Beta", "Gamma", "Delta"]), MEANINGS, min_size=1))
def test_whatever_is_declared_no_type_holds_itself(declared: dict[str, Any]) -> None:
    table, problems = declare_types(declared)
    assert all(problem.path[0] == "types" and problem.message.endswith((".", "?")) for problem in problems)

    def size(type_: str, inside: tuple[str, ...] = ()) -> int:
        assert type_ not in inside
        held = [*(table.fields_of(type_) or {}).values(), *(table.kinds_of(type_) or ())]
        return 1 + sum(size(one.removeprefix("list[").removesuffix("]"), (*inside, type_)) for one in held)

    assert all(size(name) for name in table.parents)
    for kinds in table.unions.values():
        assert all(one == other or not table.fits(one, other) for one in kinds for other in kinds)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Step: Search | Query | Answer", "Step: Search | Query | Answr"),
        ("{advice: Text, good: Bool, place: Place, marks: 'list[Number]', response: Text}", "{}"),
        ("{city: Text, rank: Number}", "{city: Text, rank: Numbr}"),
    ],
)
def test_what_follows_from_a_wrong_declaration_is_not_told_again(old: str, new: str) -> None:
    text = flow(
        *UNION,
        A,
        'JUDGE["Custom<br/>(role: judge, returns: Verdict)"]',
        "PROBLEM --> JUDGE",
        "JUDGE -->|place.city:input| A",
        "D -->|search:place.city:input| A --> RETURN",
        "D -->|query| RETURN",
        "D -->|answer| RETURN",
    )
    assert errors(text) == []
    assert old in text
    assert errors(text.replace(old, new)) == ["MW220"]


def test_fields_are_further_outputs() -> None:
    graph = typed(
        flow(
            'JUDGE["Custom<br/>(role: judge, returns: Verdict)"]',
            'A["Custom<br/>(role: a)"]',
            'N["Judge<br/>"]',
            "PROBLEM --> JUDGE",
            "JUDGE -->|advice:input| A",
            "JUDGE -->|place.city:text| N",
            "N -->|verdict.place.rank:| RETURN",
        )
    )
    assert list(graph.by_id["JUDGE"].outputs) == ["response", "advice", "good", "place", "marks"]
    assert edge(graph, "JUDGE", "A").type == "Text"
    assert edge(graph, "JUDGE", "N").type == "Text"
    assert edge(graph, "N", "RETURN").type == "Number"
    assert list(graph.by_id["N"].outputs) == ["note", "verdict"]


@pytest.mark.parametrize(
    ("label", "near"),
    [("advise:input", "advice:input"), ("place.sity:input", "place.city:input"), ("place.x.y:input", None)],
)
def test_a_field_that_is_not_there(label: str, near: str | None) -> None:
    text = flow('JUDGE["Custom<br/>(role: judge, returns: Verdict)"]', 'A["Custom<br/>(role: a)"]', "PROBLEM --> JUDGE")
    text += f"JUDGE -->|{label}| A\nA --> RETURN\n"
    [found] = [one for one in diagnose(text) if one.code == "MW207"]
    assert [apply_edits(text, fix.edits) for fix in found.fixes] == (
        [] if near is None else [text.replace(label, near)]
    )


def test_the_only_bool_among_the_fields_decides() -> None:
    text = flow(
        'JUDGE["Custom<br/>(role: judge, returns: Verdict)"]',
        "D{good?}:::DecisionOp",
        'A["Custom<br/>(role: a)"]',
        "PROBLEM --> JUDGE --> D",
        "D -->|yes:advice:| RETURN",
        "D -->|no:place.city:input| A --> RETURN",
    )
    assert errors(text) == []
    graph = typed(text)
    feeds = [(feed.output, feed.port) for feed in edge(graph, "JUDGE", "D").feeds]
    assert feeds == [("good", "when"), ("response", "value")]
    assert edge(graph, "D", "A").type == "Text"


UNION = (
    'THINK["Custom<br/>(role: think, returns: Step)"]',
    "D{which?}:::DecisionOp",
    "PROBLEM --> THINK --> D",
)
A = 'A["Custom<br/>(role: a)"]'


def test_a_case_carries_its_kind() -> None:
    text = flow(*UNION, A, "D -->|search:place.city:input| A --> RETURN", "D -->|QUERY| RETURN", "D -->|Answer| RETURN")
    assert errors(text) == []
    graph = typed(text)
    assert [(feed.output, feed.port) for feed in edge(graph, "THINK", "D").feeds] == [
        ("response", "when"),
        ("response", "value"),
    ]
    assert graph.by_id["D"].outputs == {"search": "Search", "QUERY": "Query", "Answer": "Answer"}
    assert [one.type for one in graph.by_id["D"].outgoing] == ["Text", "Query", "Answer"]


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        (["search", "query"], "MW212"),
        (["search", "query", "anser"], "MW211"),
        (["search", "query", "answer", "else"], "MW213"),
        (["search", "query", "answer", "other"], "MW211"),
    ],
)
def test_cases_cover_the_kinds(cases: list[str], code: str) -> None:
    found = [one for one, _ in told(flow(*UNION, *(f"D -->|{case}| RETURN" for case in cases)))]
    assert found == [code]


def test_else_carries_the_union() -> None:
    graph = typed(flow(*UNION, "D -->|search:query:| RETURN", "D -->|else| RETURN"))
    assert [one.type for one in graph.by_id["D"].outgoing] == ["Text", "Step"]


def test_what_another_edge_brings_to_value_is_carried_as_it_is() -> None:
    lines = ("PROBLEM -->|value| D", "D -->|search| RETURN", "D -->|query| RETURN", "D -->|answer| RETURN")
    graph = typed(flow(*UNION, *lines))
    assert {one.type for one in graph.by_id["D"].outgoing} == {"Problem"}


@pytest.mark.parametrize(("given_type", "wanted"), [("Query", "Step"), ("Text", "Step"), ("Json", "Place")])
def test_a_kind_or_json_does_not_flow_where_the_whole_is_wanted(given_type: str, wanted: str) -> None:
    front = TYPES + f"    Take: {{inputs: {{it: {wanted}}}, outputs: {{text: Text}}, prompt: Take.}}\n"
    text = workflow(
        f'G["Custom<br/>(role: give, returns: {given_type})"]',
        'U["Take<br/>"]',
        "PROBLEM --> G",
        "G -->|it| U",
        "U --> RETURN",
        front=front,
    )
    assert errors(text) == ["MW206"]
    assert errors(text.replace(f"returns: {given_type}", f"returns: {wanted}")) == []


def test_a_plain_diamond_decides_by_a_union() -> None:
    text = flow(UNION[0], "D{Which one?}", A, UNION[2], *(f"D -->|{kind}| A" for kind in ("Search", "Query", "Answer")))
    graph = typed(text + "A --> RETURN\n")
    assert graph.by_id["D"].placement.decided_by == "kinds"


def test_another_union_at_value_is_not_the_one_that_decides() -> None:
    lines = ('B["Custom<br/>(role: b, returns: Step)"]', "PROBLEM --> B", "B -->|value| D")
    cases = ("D -->|search| RETURN", "D -->|query| RETURN", "D -->|answer| RETURN")
    graph = typed(flow(*UNION, *lines, *cases))
    assert {one.type for one in graph.by_id["D"].outgoing} == {"Step"}


def test_pass_makes_a_record_of_its_ports() -> None:
    lines = ('P["Pass<br/>(returns: Place)"]', 'N["Custom<br/>(role: n, returns: Number)"]', "PROBLEM --> N")
    text = flow(*lines, "PROBLEM -->|city| P", "N -->|rank| P", "P -->|city:| RETURN")
    assert errors(text) == []
    assert edge(typed(text), "P", "RETURN").type == "Text"
    assert errors(flow(*lines, "PROBLEM -->|city| P", "PROBLEM -->|rank| P", "P & N --> RETURN"))[:1] == ["MW206"]
    assert "MW204" in errors(flow(*lines, "PROBLEM -->|city| P", "P & N --> RETURN"))
    assert "MW219" in errors(flow('P["Pass<br/>(returns: Code)"]', "PROBLEM --> P", "P --> RETURN"))


PLACES = 'W["Custom<br/>(role: w, returns: Place, samples: 3)"]'


@pytest.mark.parametrize(
    ("returns", "by", "fixed"),
    [
        ("Place", "", "rank"),
        ("Place", "(by: city)", "rank"),
        ("Place", "(by: place.rank)", "rank"),
        ("Text", "", None),
        ("Number", "(by: rank)", None),
        ("Step", "(by: rank)", None),
    ],
)
def test_a_select_without_a_number_is_an_error(returns: str, by: str, fixed: str | None) -> None:
    text = flow(f'S["Select<br/>{by}"]', PLACES.replace("Place", returns), "PROBLEM --> W --> S", "S -->|best:| RETURN")
    [found] = [one for one in diagnose(text) if one.code == "MW228"]
    assert errors(text) == ["MW228"]
    if fixed is None:
        assert not found.fixes
    else:
        assert errors(apply_edits(text, found.fixes[0].edits)) == []


def test_a_field_changes_while_somebody_types() -> None:
    text = flow(*UNION, "D -->|search:query:| RETURN", "D -->|query| RETURN", "D -->|answer| RETURN")
    assert errors(text) == []
    changed = analyse(text.replace("Search: {query: Text", "Search: {words: Text"))
    assert "MW211" in [one.code for one in changed.diagnostics]


BOOKS = """
workflow:
  types:
    Author: {name: Text, age: Number}
    Book: {title: Text, author: Author, tags: 'list[Text]'}
    Shelf: {books: 'list[Book]', films: 'list[Text]', first: Book, note: Text}
    Step: Shelf | Answer
"""


def shelved(returns: str, *lines: str) -> str:
    """A Map over something of what A gives."""
    return workflow(
        f'A["Custom (role: a, returns: {returns})"]:::CustomOp',
        'subgraph ITEMS["Map (max: 5)"]',
        'B["Custom (role: b)"]:::CustomOp',
        "end",
        "PROBLEM -->|input| A",
        *lines,
        "B --> RETURN",
        front=BOOKS,
    )


@pytest.mark.parametrize(
    ("returns", "label", "type_"),
    [
        ("Shelf", "each:books.title:input", "Text"),
        ("Shelf", "each:books.author.age:input", "Number"),
        ("Shelf", "each:first.tags:input", "Text"),
        ("Shelf", "each:films:input", "Text"),
        ("Shelf", "each:books.tags:input", "list[Text]"),
        ("list[Book]", "each:author.name:input", "Text"),
        ("list[Book]", "each:tags:input", "list[Text]"),
    ],
)
def test_each_takes_the_first_list_on_the_way_to_a_field_apart(returns: str, label: str, type_: str) -> None:
    text = shelved(returns, f"A -->|{label}| B")
    assert errors(text) == []
    assert edge(typed(text), "A", "B").type == type_


@pytest.mark.parametrize(
    ("returns", "label", "told_as"),
    [
        ("Shelf", "each:note:input", ("MW206", "each")),
        ("Shelf", "each:first.author.name:input", ("MW206", "each")),
        ("Shelf", "each:books.titel:input", ("MW207", "books.titel")),
        ("Shelf", "each:first.author.tags:input", ("MW207", "first.author.tags")),
        ("list[Book]", "each:author.x:input", ("MW207", "author.x")),
    ],
)
def test_a_field_with_no_list_on_the_way_has_no_items(returns: str, label: str, told_as: tuple[str, str]) -> None:
    text = shelved(returns, f"A -->|{label}| B")
    assert told_as in told(text)
    [found] = [one for one in diagnose(text) if one.code == told_as[0]]
    assert "returns:" not in found.message


def test_fields_of_the_items_of_one_list_are_of_one_length() -> None:
    same = ("A -->|each:books.title:input| B", "A -->|each:books.author.name:input| B", "A -->|note:input| B")
    assert errors(shelved("Shelf", *same)) == []
    assert errors(shelved("list[Book]", "A -->|each:title:input| B", "A -->|each:author.age:input| B")) == []
    other = ("A -->|each:books.title:input| B", "A -->|each:films:input| B")
    assert ("MW222", "each") in told(shelved("Shelf", *other))


def test_what_a_case_carries_is_taken_apart_at_a_field() -> None:
    lines = (
        'A["Custom (role: a, returns: Step)"]:::CustomOp',
        "WHICH{Which?}:::DecisionOp",
        'subgraph ITEMS["Map (max: 5)"]',
        'B["Custom (role: b)"]:::CustomOp',
        "end",
        'C["Custom (role: c)"]:::CustomOp',
        "PROBLEM -->|input| A",
        "A --> WHICH",
        "WHICH -->|Answer:input| C",
        "B -->|input| C",
        "C --> RETURN",
    )
    good = workflow(*lines, "WHICH -->|Shelf:each:books.title:input| B", front=BOOKS)
    assert errors(good) == []
    assert edge(typed(good), "WHICH", "B").type == "Text"
    assert "MW206" in errors(workflow(*lines, "WHICH -->|Shelf:each:note:input| B", front=BOOKS))


@pytest.mark.parametrize(
    ("label", "type_"), [("each:first.title:input", "Text"), ("each:first.tags:input", "list[Text]")]
)
def test_fields_of_what_left_a_map_are_those_of_its_items(label: str, type_: str) -> None:
    text = workflow(
        'LIST["Custom (role: l, returns: list[Text])"]:::CustomOp',
        'subgraph FIRST["Map (max: 5)"]',
        'A["Custom (role: a, returns: Shelf)"]:::CustomOp',
        "end",
        'subgraph SECOND["Map (max: 5)"]',
        'B["Custom (role: b)"]:::CustomOp',
        "end",
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| A",
        f"A -->|{label}| B",
        "A -->|each:note:input| B",
        "B --> RETURN",
        front=BOOKS,
    )
    assert errors(text) == []
    assert edge(typed(text), "A", "B").type == type_
