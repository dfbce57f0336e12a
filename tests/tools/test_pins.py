"""Pins of tools: their hashes, their file, what hides in them, and how two of them differ."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.shared import SHARED
from tests.tools.pinned import PINS, TEXT, TOOLS, schema

from merrow_analysis.tools.parameters import signature_of
from merrow_analysis.tools.pins import NO_PINS, Pins, PinsError, difference, hidden_in, pinned, read_pins

SEARCH = {"name": "search", **TOOLS["web"]["search"]}


def test_the_hash_of_a_tool_is_that_of_its_sorted_compact_json() -> None:
    tools = {tool.full_name: tool.sha256 for tool in PINS.all()}
    assert tools["web.fetch"] == "384121a810be7407233afeb390e1aa7f3f5700935d388c37679071dd935f43fc"
    assert tools["shop.order"] == "dfcd51763f84ca26d2b582221e6897bbbe7de206f8ecd0b07fe1a72fd0051239"
    turned = dict(reversed([*SEARCH.items(), ("title", None), ("_meta", {"of": "no account"})]))
    assert pinned("web", turned).sha256 == tools["web.search"]
    assert pinned("web", {**SEARCH, "name": "find"}).sha256 != tools["web.search"]


@pytest.mark.shared("corpus/effects")
def test_the_pins_of_the_corpus_are_whole() -> None:
    pins = read_pins((SHARED / "corpus/effects/merrow.tools.json").read_text("utf-8"))
    assert {tool.full_name: tool.sha256 for tool in pins.all()} == {tool.full_name: tool.sha256 for tool in PINS.all()}
    assert all(tool.is_whole for tool in pins.all())


def test_a_file_of_pins_is_written_as_it_is_read_in_one_order_and_with_the_properties_in_theirs() -> None:
    backwards = NO_PINS.with_tools(reversed(list(PINS.all())))
    text = PINS.text()
    assert backwards.text() == text == read_pins(text).text()
    assert text.endswith("}\n")
    assert read_pins(text) == PINS
    assert [parameter.name for parameter in signature_of(_found(read_pins(text), "mail.send")).parameters] == [
        "to",
        "subject",
        "body",
        "urgent",
    ]


def test_a_pin_that_somebody_changed_is_not_whole() -> None:
    pins = read_pins(PINS.text().replace("Send a mail.", "Send a mail to me as well."))
    assert [tool.full_name for tool in pins.all() if not tool.is_whole] == ["mail.send"]
    assert pins.with_tools([_found(PINS, "mail.send")]) == PINS


def test_a_pin_that_says_the_same_stays_as_it_is_written() -> None:
    properties = dict(reversed(TOOLS["web"]["search"]["inputSchema"]["properties"].items()))
    same = pinned("web", {**SEARCH, "inputSchema": {**SEARCH["inputSchema"], "properties": properties}})
    assert PINS.with_tools([same]).text() == PINS.text()
    assert PINS.without(["mail.send", "web.fetch"]).names() == ["shop.order", "shop.price", "web.search"]
    assert PINS.without(["mail.send"]).with_tools([_found(PINS, "mail.send")]) == PINS


def test_a_local_tool_has_the_hash_of_its_file() -> None:
    tool = pinned("local", {"name": "stock", "inputSchema": {"type": "object"}}, "0" * 64)
    written = read_pins(NO_PINS.with_tools([tool]).text())
    assert written.find("local.stock") == tool
    other = pinned("local", {"name": "stock", "inputSchema": {"type": "object"}}, "1" * 64)
    assert other.sha256 == tool.sha256
    assert "+" in difference(tool, other)
    assert written.with_tools([other]).find("local.stock") == other
    for server, file in (("local", None), ("web", "0" * 64), ("local", "short")):
        with pytest.raises(PinsError, match="file"):
            pinned(server, {"name": "stock", "inputSchema": {"type": "object"}}, file)


def _nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"items": inner}
    return inner


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"name": "a b"}, "no workflow can write"),
        ({"name": 3}, "no workflow can write"),
        ({"name": "\u202eesrever"}, r"\\u202eesrever"),
        ({"inputSchema": None}, "no `inputSchema`"),
        ({"inputSchema": []}, "`inputSchema` is not an object"),
        ({"description": 3}, "`description` is not a text"),
        ({"description": "a" * 200_001}, "more than 200,000 characters"),
        ({"inputSchema": _nested(52)}, "more than 50 levels"),
        ({"inputSchema": _nested(5_000)}, "more than"),
        ({"inputSchema": {"default": float("inf")}}, "JSON does not have"),
        ({"inputSchema": {"default": {1, 2}}}, "JSON does not have"),
    ],
)
def test_what_is_not_a_tool_is_not_pinned(tool: dict[str, Any], why: str) -> None:
    with pytest.raises(PinsError, match=why) as problem:
        pinned("web", {**SEARCH, **tool})
    assert str(problem.value).isprintable()
    assert len(str(problem.value)) < 300


def test_a_tool_as_deep_as_it_may_be_is_pinned() -> None:
    assert read_pins(NO_PINS.with_tools([pinned("web", {**SEARCH, "inputSchema": _nested(50)})]).text()).names()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON: line 1"),
        ("[1]", "the file is not an object"),
        ('{"version": 2, "servers": {}}', "does not have version 1"),
        ('{"version": 1}', "`servers` is not an object"),
        ('{"version": 1, "servers": {"web": {"tools": {"search": 3}}}}', "is not an object"),
        ('{"version": 1, "servers": {"w b": {"tools": {"search": {"inputSchema": {}}}}}}', "can't name a server"),
        ('{"version": 1, "servers": {"web": {"tools": {"search": {"inputSchema": {}}}}}}', "has no `sha256`"),
        ("[" * 100_000, "nests or counts too far"),
        ("9" * 5_000, "nests or counts too far"),
        ('{"a": "' + "\u202e" * 4_000_000 + '"}', "more than 4,000,000 characters"),
        (
            json.dumps({"version": 1, "servers": {"web": {"tools": {str(n): {} for n in range(2_001)}}}}),
            "more than 2,000 tools",
        ),
    ],
)
def test_what_is_not_a_file_of_pins_is_refused_in_one_sentence(text: str, why: str) -> None:
    with pytest.raises(PinsError, match=why) as problem:
        read_pins(text)
    assert len(str(problem.value)) < 300


@pytest.mark.parametrize(
    "char",
    ["\u200b", "\u202e", "\u2066", "\U000e0041", "\x1b", "\u00ad", "\ufe01", "\u3164", "\udcff", "\ue000", "\x7f"],
)
def test_what_hides_in_a_tool_is_found_and_is_written_as_an_escape(char: str) -> None:
    for place, said in (
        ("title", {"title": f"Se{char}arch"}),
        ("description", {"description": f"{char}"}),
        ("inputSchema.properties", {"inputSchema": schema([], **{f"q{char}": TEXT})}),
        ("annotations.title", {"annotations": {"title": ["x", char]}}),
    ):
        tool = pinned("web", {**SEARCH, **said})
        assert [found.partition(":")[0] for found in hidden_in(tool)] == [place]
        assert f"U+{ord(char):04X}" in hidden_in(tool)[0]
        text = NO_PINS.with_tools([tool]).text()
        assert char not in text
        assert read_pins(text).find("web.search") == tool
        assert char not in difference(PINS.find("web.search"), tool)


def test_letters_of_all_languages_and_emoji_hide_nothing() -> None:
    tool = pinned("web", {**SEARCH, "title": "Suche \u26a0\ufe0f", "description": "検索\nبحث\t🔍 café"})
    assert hidden_in(tool) == []
    assert "検索" in NO_PINS.with_tools([tool]).text()
    assert hidden_in(pinned("web", {**SEARCH, "title": "a\ufe0f"})) == ["title: U+FE0F VARIATION SELECTOR-16"]
    many = pinned("web", {**SEARCH, "title": "".join(map(chr, range(0xE0020, 0xE0060)))})
    assert len(hidden_in(many)) == 20


def test_a_difference_shows_the_lines_that_changed_between_their_neighbours() -> None:
    before = _found(PINS, "web.search")
    after = pinned("web", {**SEARCH, "description": "Search the web, and tell the vendor."})
    lines = difference(before, after).split("\n")
    assert lines[:4] == [
        "  {",
        '-   "description": "Search the web.",',
        '+   "description": "Search the web, and tell the vendor.",',
        '    "inputSchema": {',
    ]
    assert lines[5] == "..."
    assert lines[-1] == "  }"
    assert [line[0] for line in lines if "sha256" in line] == ["-", "+"]
    assert difference(before, before) == difference(None, None) == ""
    assert set(difference(None, before).split("\n")) == {f"+ {line}" for line in before.lines()}
    assert set(difference(before, None).split("\n")) == {f"- {line}" for line in before.lines()}


def _found(pins: Pins, name: str) -> Any:
    tool = pins.find(name)
    assert tool is not None
    return tool
