"""What the checker says of nodes that use tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.rule_page import GivenFiles
from tests.shared import SHARED
from tests.tools.flows import NOT_SAID, checked, flow, found, price
from tests.tools.pinned import PINS, TEXT, TOOLS, schema

from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines
from merrow_analysis.tools.permissions import NO_PERMISSIONS, NamedPermissions, Permissions
from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.planned import load_planned
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_runtime.workflow import check_workflow, restore

SEND = 'SEND@{ op: Tool, tool: mail.send, with: "to: a@example.org" }'


def marked(analysis: Analysis, code: str) -> list[str]:
    """The texts that findings of a rule mark."""
    lines = split_lines("".join(block.text for block in analysis.diagram.blocks))
    return [
        "".join(lines)[_offset(lines, one.range.start) : _offset(lines, one.range.end)]
        for one in analysis.diagnostics
        if one.code == code
    ]


def _offset(lines: list[str], position: Position) -> int:
    return sum(map(len, lines[: position.line])) + position.column


def fixed(text: str, code: str, number: int = 0) -> str:
    finding = next(one for one in checked(text).diagnostics if one.code == code)
    return apply_edits(text, list(finding.fixes)[number].edits)


CASES = [
    json.loads(line)
    for line in (
        (SHARED / "corpus/effects/expected.jsonl").read_text("utf-8").splitlines()
        if (SHARED / "corpus/effects").exists()
        else []
    )
]
OURS = {"V02", "D06", "D07", "D08", "D09", "D12"}


@pytest.mark.shared("corpus/effects")
def test_the_cases_of_the_corpus() -> None:
    ours = [case for case in CASES if case["file"][:3] in OURS]
    assert len(ours) == len(OURS)
    for case in ours:
        assert_case(case)


def assert_case(case: dict[str, Any]) -> None:
    """What is found in a case of the corpus is what is expected."""
    folder = SHARED / "corpus/effects"
    text = (folder / case["file"]).read_text("utf-8")
    analysis = analyse(text, path=case["file"], provider=WorkspaceFinder().provider(folder))
    assert analysis.is_valid is case["valid"], case
    serious = [one for one in analysis.diagnostics if one.severity is not Severity.HINT]
    assert [one.code for one in serious] == ([] if case["valid"] else [case["rule"]]), case
    for one in serious:
        assert (one.severity.value, one.range.start.line + 1) == (case["severity"], case["line"])
        assert all(
            word in one.message for word in str(case["place"].get("edge", case["place"].get("node"))).split(" -> ")
        )
        assert case["place"].get("port", "") in one.message
        if "fix" in case:
            words = case["fix"].casefold().split()
            assert all(word in next(iter(one.fixes)).title.casefold() for word in words), one


def test_a_tool_has_the_ports_and_types_of_its_pin() -> None:
    graph = checked(price(', with: "count: 3, grade: used"')).typed
    assert graph is not None
    node = graph.by_id["PRICE"]
    assert [(port.name, port.type, port.required) for port in node.input_ports] == [
        ("article", "Text", True),
        ("count", "Number", False),
        ("grade", "ShopPriceGrade", False),
        ("after", "Any", False),
    ]
    assert dict(node.outputs) == {"price": "Number", "currency": "Text"}
    assert node.spec is not None
    assert (node.spec.effect, node.spec.acts, node.spec.asks_model) == ("tool", True, False)
    assert found(price(', with: "count: 3, grade: used"')) == []


def test_a_result_without_a_schema_is_a_text() -> None:
    text = flow(
        "web.fetch", 'GET["Tool<br/>(tool: web.fetch)"]', "PROBLEM -->|url| GET", "GET -->|result:result| RETURN"
    )
    assert found(text) == []
    assert found(text.replace("|result:", "|body:"))[0][0] == "MW207"


@pytest.mark.parametrize(
    ("types", "given", "ok"),
    [
        ("", "ShopPriceGrade", True),
        ("  types: {Grade: [used, new]}\n", "Grade", True),
        ("  types: {Grade: [used, new], Kind: Grade}\n", "Kind", True),
        ("  types: {Grade: [used, new, broken]}\n", "Grade", False),
        ("  types: {ShopPriceGrade: [used, new, broken]}\n", "ShopPriceGrade", False),
        ("", "Text", False),
    ],
)
def test_enumerations_of_tools_are_types_of_the_workflow(types: str, given: str, ok: bool) -> None:
    text = flow(
        "shop.price",
        f"ASK@{{ op: Custom, role: ask, returns: {given} }}",
        "PRICE@{ op: Tool, tool: shop.price }",
        "PROBLEM -->|input| ASK",
        "PROBLEM -->|article| PRICE",
        "ASK -->|grade| PRICE",
        "PRICE --> RETURN",
        more=types,
    )
    assert [code for code, _ in found(text)] == ([] if ok else ["MW206"])


def test_records_of_tools_are_types_of_the_workflow() -> None:
    place = schema(["town", "size"], town=TEXT, size={"enum": ["big", "small"]})
    tools = [
        pinned(
            "geo",
            {"name": "find", "inputSchema": schema(["near"], near=place), "outputSchema": schema(["at"], at=place)},
        )
    ]
    pins = NO_PINS.with_tools(tools)
    lines = (
        "FIRST@{ op: Tool, tool: geo.find }",
        "SECOND@{ op: Tool, tool: geo.find }",
        "ASK@{ op: Custom, role: ask, returns: GeoFindNear }",
        "PROBLEM -->|input| ASK",
        "ASK -->|near| FIRST",
        "FIRST -->|at:near| SECOND",
        "SECOND -->|at.town:result| RETURN",
    )
    assert found(flow("geo.find", *lines), pins) == []
    own = "  types: {Size: [small, big], Place: {town: Text, size: Size}}\n"
    assert found(flow("geo.find", *lines, more=own).replace("GeoFindNear", "Place"), pins) == []
    graph = checked(flow("geo.find", *lines, more=own).replace("GeoFindNear", "Place"), pins).typed
    assert graph is not None
    assert graph.by_id["SECOND"].outputs["at"] == "Place"


def test_a_tool_that_is_not_declared_has_ports_all_the_same() -> None:
    text = price("").replace("[shop.price]", "[]").replace("PROBLEM -->|article|", "PROBLEM -->|grade|")
    assert [code for code, _ in found(text)] == ["MW204", "MW506"]
    assert "tools: [shop.price]" in fixed(text, "MW506")
    nothing = text.replace("  tools: []\n", "  version: 1\n")
    assert "  tools: [shop.price]\n" in fixed(nothing, "MW506")
    several = text.replace("[]", "[mail.send]")
    assert "tools: [mail.send, shop.price]" in fixed(several, "MW506")


@pytest.mark.parametrize(
    ("pins", "why"),
    [
        (None, "is not pinned, since there is no merrow.tools.json; pin it with `merrow tools pull shop price`."),
        (NO_PINS, "is not in merrow.tools.json; pin it with `merrow tools pull shop price`."),
        ("{", "merrow.tools.json is not JSON: line 1"),
        (PINS.text().replace("The price of", "A price of"), "is not as it was pinned: its hash differs"),
        (
            NO_PINS.with_tools([pinned("shop", {"name": "price", "inputSchema": schema([], **{"two words": TEXT})})]),
            "can't be used in a workflow: no edge can name its parameter 'two words'",
        ),
    ],
)
def test_why_a_tool_is_not_pinned(pins: Any, why: str) -> None:
    [(code, message)] = found(price(""), pins)
    assert code == "MW503"
    assert why in message


def test_a_misspelled_tool_is_written_at_the_node_and_in_the_list() -> None:
    for label in ("PRICE@{ op: Tool, tool: shop.prise }", 'PRICE["Tool<br/>(tool: shop.prise)"]'):
        text = price("").replace("PRICE@{ op: Tool, tool: shop.price }", label)
        assert fixed(text, "MW503") == text.replace("shop.prise", "shop.price")
        assert marked(checked(text), "MW503") == ["shop.prise"]
        both = text.replace("[shop.price]", "[web.search, shop.prise]")
        assert found(fixed(both, "MW503")) == []
        assert "[web.search, shop.price]" in fixed(both, "MW503")


@pytest.mark.parametrize(
    ("written", "why"),
    [("", "`tool` names no tool"), (", tool: search", "does not name a tool"), (", tool: 3", "`tool` names no tool")],
)
def test_a_tool_must_be_named(written: str, why: str) -> None:
    text = price("").replace(", tool: shop.price", written)
    assert [code for code, message in found(text) if why in message] in (["MW503"], ["MW305"]), found(text)
    assert not checked(text).is_valid


def test_names_in_the_list_that_no_pin_has() -> None:
    text = price("").replace("[shop.price]", "[shop.price, web.serch, x.y]")
    findings = [one for one in checked(text).diagnostics if one.code == "MW503"]
    assert [one.message.partition(";")[0] for one in findings] == [
        "`tools`: `web.serch` is not in merrow.tools.json",
        "`tools`: `x.y` is not in merrow.tools.json",
    ]
    assert marked(checked(text), "MW503") == ["web.serch", "x.y"]
    assert "[shop.price, web.search, x.y]" in fixed(text, "MW503")
    assert "[shop.price, x.y]" in fixed(text, "MW503", 1)
    assert [code for code, _ in found(text.replace("[shop.price, web.serch, x.y]", "shop.price"))] == ["MW311", "MW506"]


@pytest.mark.parametrize(
    ("constants", "code", "place", "why"),
    [
        ("cuont: 3", "MW304", "cuont", "no parameter `cuont`; did you mean `count`?"),
        ("colour: red", "MW304", "colour", "it has `article`, `count`, `grade`"),
        ("count: 3.5", "MW305", "count: 3.5", "is not of type 'integer'"),
        ("count: many", "MW305", "count: many", "is not of type 'integer'"),
        ("count: 3, grade: worn", "MW305", "grade: worn", "'worn' is not one of"),
        ("count:", "MW305", "count", "gives `count` no value"),
        ("count", "MW305", "count", "gives `count` no value"),
        ("count: [3", "MW305", None, "can't be read"),
        ("count: 1, count: 2", "MW305", None, "can't be read"),
        ("3: 4", "MW304", "3", "no parameter `3`"),
        ("article: x", "MW306", "article: x", "PROBLEM feeds port `article` as well"),
    ],
)
def test_constants_that_do_not_fit(constants: str, code: str, place: str | None, why: str) -> None:
    for text in (
        price(f', with: "{constants}"'),
        price("").replace(
            "PRICE@{ op: Tool, tool: shop.price }", f"PRICE[\"Tool<br/>(tool: shop.price, with: '{constants}')\"]"
        ),
    ):
        findings = [one for one in found(text) if one[0] not in ("MW406",)]
        assert [found_code for found_code, _ in findings] == [code], findings
        assert why in findings[0][1]
        if place is not None:
            assert marked(checked(text), code) == [place]


def test_fixes_of_constants() -> None:
    text = price(', with: "count: 3, article: x, grade: used"')
    assert 'with: "count: 3, grade: used"' in fixed(text, "MW306")
    assert 'with: "article: x, grade: used"' in fixed(price(', with: "cuont: 3, article: x, grade: used"'), "MW304", 1)
    assert 'with: "count: 3, grade: used"' in fixed(price(', with: "cuont: 3, grade: used"'), "MW304")
    assert "tool: shop.price }" in fixed(price(', with: "count: many"'), "MW305")
    label = price("").replace(
        "PRICE@{ op: Tool, tool: shop.price }", "PRICE[\"Tool<br/>(tool: shop.price, with: 'count: 3, article: x')\"]"
    )
    assert "with: 'count: 3')" in fixed(label, "MW306")


def test_constants_feed_their_ports() -> None:
    text = flow("mail.send", SEND, "PROBLEM -->|subject| SEND", "SEND --> RETURN")
    assert found(text) == []
    assert [code for code, _ in found(text.replace("to: a@example.org", "body: x"))] == ["MW204"]
    nulls = text.replace("to: a@example.org", "to: a@example.org, urgent: true, body: 'x, y'")
    assert found(nulls) == []


def test_constants_of_a_schema_that_cannot_be_worked_through_are_not_judged() -> None:
    for body in ({"type": "strange"}, {"pattern": "(a+)+$", "type": "string"}, {"$ref": "#/nowhere"}):
        tool = pinned("x", {"name": "y", "inputSchema": schema([], word=body, other=TEXT)})
        text = flow(
            "x.y",
            'T@{ op: Tool, tool: x.y, with: "word: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }',
            "PROBLEM -->|other| T",
            "T --> RETURN",
        )
        assert [code for code, _ in found(text, NO_PINS.with_tools([tool]))] in ([], ["MW305"])


def test_a_constant_takes_a_bounded_number_of_steps() -> None:
    for choices, codes in ((10, ["MW305"]), (2_500, [])):
        body = {"anyOf": [{"const": f"c{number}"} for number in range(choices)]}
        pins = NO_PINS.with_tools([pinned("x", {"name": "y", "inputSchema": schema([], word=body, other=TEXT)})])
        text = flow("x.y", 'T@{ op: Tool, tool: x.y, with: "word: z" }', "PROBLEM -->|other| T", "T --> RETURN")
        assert [code for code, _ in found(text, pins)] == codes


@pytest.mark.parametrize("key", ["samples", "attempts", "retries"])
def test_a_tool_is_not_used_several_times(key: str) -> None:
    text = price(f", {key}: 3")
    assert [code for code, _ in found(text)] == ["MW319"]
    assert fixed(text, "MW319") == price("")


def test_keys_of_models_change_nothing() -> None:
    text = price(", temperature: 0, returns: Text, memory: all, role: x")
    assert {code for code, _ in found(text)} == {"MW406"}
    assert found(price(", timeout: 30, on_error: skip, locked: true")) == []


BOXED = (
    'ASK@{ op: Custom, role: ask, returns: "list[Text]" }',
    'subgraph EACH["Map (max: 7)"]',
    SEND,
    "end",
    "PROBLEM -->|input| ASK",
    "ASK -->|each:subject| SEND",
    "SEND --> RETURN",
)


def test_a_tool_in_a_box_is_warned_of_unless_the_user_lets_it_repeat() -> None:
    text = flow("mail.send", *BOXED)
    [(code, message)] = found(text)
    assert code == "MW508"
    assert "SEND (Tool) is in EACH, so a run may use mail.send up to 7 times" in message
    assert found(text, permissions=NamedPermissions(repeatable=["mail.send"])) == []
    assert found(text, permissions=NamedPermissions(repeatable=["mail.sends"])) == [(code, message)]
    assert found(text, permissions=NamedPermissions(allowed=["mail.send"])) == [(code, message)]


def hinted(text: str, permissions: Permissions = NO_PERMISSIONS) -> list[str]:
    return [
        one.message.partition(" ")[0]
        for one in checked(text, permissions=permissions).diagnostics
        if one.code == "MW507"
    ]


def test_a_tool_that_no_person_sees_is_hinted_at_unless_the_user_allows_it() -> None:
    alone = flow("mail.send", SEND, "PROBLEM -->|subject| SEND", "SEND --> RETURN")
    assert hinted(alone) == ["SEND"]
    assert hinted(alone, NamedPermissions(allowed=["mail.send"])) == []
    assert hinted(alone, NamedPermissions(repeatable=["mail.send"])) == ["SEND"]
    asked = fixed(alone, "MW507")
    assert "Human" in asked
    assert hinted(asked) == []
    assert found(asked) == []
    after = alone.replace(
        "SEND --> RETURN", "SEND -->|input| ASK\n    ASK@{ op: Human, ask: Fine? }\n    ASK --> RETURN"
    )
    assert hinted(after) == ["SEND"]


def test_a_planned_workflow_has_no_tools() -> None:
    text = flow("mail.send", SEND, "PROBLEM -->|subject| SEND", "SEND --> RETURN")
    with pytest.raises(AnswerFailure):
        load_planned(text)


def test_a_file_that_uses_tools_acts_where_it_is_called() -> None:
    inner = flow("mail.send", SEND, "PROBLEM -->|subject| SEND", "SEND --> RETURN")
    outer = flow("", "CALL@{ op: Call, workflow: ./inner.mmd, samples: 2 }", "PROBLEM --> CALL", "CALL --> RETURN")
    analysis = checked(outer, inner_mmd=inner)
    assert analysis.typed is not None
    callee = analysis.typed.by_id["CALL"].resolution.callee
    assert callee is not None
    assert callee.acts
    broken = checked(outer, NO_PINS, inner_mmd=inner)
    assert any("MW503" in one.message for one in broken.errors)


def test_the_pins_of_the_workspace_are_found_from_folders_below(tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").write_text("")
    (tmp_path / PINS_FILE).write_text(PINS.text())
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)

    def codes(folder: Path) -> list[str]:
        analysis = analyse(price(""), path="flow.mmd", provider=WorkspaceFinder().provider(folder))
        return [one.code for one in analysis.errors]

    assert codes(deep) == []
    (tmp_path / "a" / PINS_FILE).write_text(NO_PINS.text())
    assert codes(deep) == ["MW503"]
    assert codes(tmp_path) == []
    (deep / "merrow.toml").write_text("")
    assert codes(deep) == ["MW503"]


def test_an_edit_of_the_pins_is_seen_at_the_next_analysis() -> None:
    class Files:
        text = PINS.text()

        def read(self, path: str) -> str:
            del path
            return self.text

        def exists(self, path: str) -> bool:
            return path == PINS_FILE

    files = Files()
    analyser = Analyser(price(""), path="flow.mmd", provider=files)
    first = analyser.analysis().typed
    assert first is not None
    analyser.edit(TextEdit(Range(Position(6, 0), Position(6, 0)), "    %% a comment\n"))
    again = analyser.analysis().typed
    assert again is not None
    assert again.core.language is first.core.language
    files.text = NO_PINS.with_tools(
        [
            pinned(
                "shop",
                {
                    "name": "price",
                    **TOOLS["shop"]["price"],
                    "inputSchema": schema(["article", "size"], article=TEXT, size=TEXT),
                },
            )
        ]
    ).text()
    assert [one.code for one in analyser.analysis().errors] == ["MW204"]
    files.text = PINS.text()
    assert analyser.analysis().errors == []


def test_what_is_found_after_edits_is_what_is_found_from_scratch() -> None:
    text = flow(
        "mail.send, shop.price",
        *BOXED,
        'PRICE@{ op: Tool, tool: shop.price, with: "grade: worn" }',
        "ASK -->|item:article| PRICE",
        "GRADE@{ op: Custom, role: ask, returns: ShopPriceGrade }",
        "PROBLEM -->|input| GRADE",
        "GRADE -->|grade| PRICE",
    )
    provider = GivenFiles({PINS_FILE: PINS.text()})
    analyser = Analyser(text, path="flow.mmd", provider=provider)
    assert analyser.analysis().typed is not None
    edits = [
        ("mail.send, shop.price]", "mail.send]"),
        ("tool: shop.price", "tool: shop.prise"),
        ("tool: shop.prise", "tool: shop.order"),
        ("grade: worn", "count: 3"),
        ("mail.send]", "mail.send, shop.order]"),
        ("ASK -->|each:subject| SEND", "ASK -->|each:body| SEND"),
        ("to: a@example.org", "to: a@example.org, subject: x"),
        ("op: Tool, tool: mail.send", "op: Human"),
        ("max: 7", "max: 8"),
    ]
    for old, new in edits:
        assert old in text
        before = text[: text.index(old)]
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        analyser.edit(TextEdit(Range(Position(line, column), Position(line, column + len(old))), new))
        text = text.replace(old, new, 1)
        fresh = analyse(text, path="flow.mmd", provider=provider)
        assert [(one.code, one.range, one.message) for one in analyser.analysis().diagnostics] == [
            (one.code, one.range, one.message) for one in fresh.diagnostics
        ], new


def test_a_workflow_with_tools_is_restored_with_its_pins() -> None:
    workflow = check_workflow(price(""), path="flow.mmd", provider=GivenFiles({PINS_FILE: PINS.text()}))
    again = restore(workflow.snapshot())
    assert again.graph.by_id["PRICE"].outputs == {"price": "Number", "currency": "Text"}
    made = make_steps(again, RunOptions())[again.graph.by_id["PRICE"].index]
    assert made.digest == make_steps(workflow, RunOptions())[workflow.graph.by_id["PRICE"].index].digest


def test_hostile_pins_are_one_finding_without_control_characters() -> None:
    for pins in (
        "[" * 100_000,
        '{"version": 1, "servers": {"\u202e": {"tools": {}}}}',
        '{"version": 1, "servers": {"s": {"tools": {"\u001b[2J": {}}}}}',
    ):
        [(code, message)] = found(price(""), pins)
        assert code == "MW503"
        assert message.isprintable()
    assert NOT_SAID


def test_a_workflow_without_tools_asks_for_no_pins() -> None:
    class Files(GivenFiles):
        def exists(self, path: str) -> bool:
            assert PINS_FILE not in path
            return super().exists(path)

    text = flow("", "ASK@{ op: Custom, role: ask }", "PROBLEM -->|input| ASK", "ASK --> RETURN")
    assert analyse(text, path="flow.mmd", provider=Files({})).errors == []


NOW = NO_PINS.with_tools(
    [
        *PINS.all(),
        pinned("time", {"name": "now", "inputSchema": {"type": "object"}}),
        pinned("time", {"name": "wait", "inputSchema": schema(["after"], after={"type": "number"})}),
    ]
)


@pytest.mark.parametrize(
    ("node", "edge", "codes"),
    [
        ("tool: time.now", "PROBLEM -->|after| T", []),
        ("tool: time.now", "PROBLEM --> T", ["MW202"]),
        ('tool: web.fetch, with: "url: x"', "PROBLEM & OTHER -->|after| T", []),
        ("tool: web.fetch", "PROBLEM -->|after| T", ["MW204"]),
        ('tool: web.fetch, with: "url: x, after: y"', "PROBLEM -->|after| T", ["MW304"]),
        ("tool: time.wait", "PROBLEM -->|after| T", ["MW206"]),
        ('tool: time.wait, with: "after: 3"', "PROBLEM -->|after| T", ["MW206", "MW306"]),
    ],
)
def test_a_tool_may_wait_for_what_it_is_not_given(node: str, edge: str, codes: list[str]) -> None:
    lines = [
        "OTHER@{ op: Custom, role: ask }",
        "PROBLEM -->|input| OTHER",
        f"T@{{ op: Tool, {node} }}",
        edge,
        "T --> RETURN",
    ]
    lines = lines if "OTHER" in edge else lines[2:]
    assert sorted(code for code, _ in found(flow("time.now, time.wait, web.fetch", *lines), NOW)) == codes


@pytest.mark.parametrize(
    ("tool", "edge"),
    [
        ('web.fetch, with: "url: x"', "LOG -->|after| T"),
        ("web.fetch", "LOG -->|url| T"),
        ('web.search, with: "query: x"', "LOG -->|after| T"),
        ("mail.list", "LOG -->|filter| T"),
    ],
)
def test_a_tool_is_skipped_where_what_it_waits_for_or_is_given_does_not_come(tool: str, edge: str) -> None:
    text = flow(
        "web.fetch, web.search, mail.list",
        "SORT@{ op: Custom, role: sort, returns: Bool }",
        "WHICH{Good?}:::DecisionOp",
        "LOG@{ op: Custom, role: log }",
        "OTHER@{ op: Custom, role: other }",
        f"T@{{ op: Tool, tool: {tool} }}",
        "BOTH@{ op: Custom, role: both }",
        "PROBLEM -->|input| SORT",
        "SORT -->|when| WHICH",
        "PROBLEM -->|value| WHICH",
        "WHICH -->|yes:input| LOG",
        "WHICH -->|no:input| OTHER",
        edge,
        "T -->|input| BOTH",
        "OTHER -->|input| BOTH",
        "BOTH --> RETURN",
        "classDef DecisionOp fill:#eee",
    )
    pins = PINS.with_tools(
        [pinned("mail", {"name": "list", "inputSchema": schema([], filter=TEXT, most={"type": "number"})})]
    )
    assert found(text, pins) == []
    graph = checked(text, pins).typed
    assert graph is not None
    runs = graph.combinations.runs
    assert runs(graph.by_id["T"]) == runs(graph.by_id["LOG"]) != runs(graph.by_id["SORT"])
