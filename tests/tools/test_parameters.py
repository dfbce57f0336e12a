"""The parameters and outputs of tools, as types."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tools.pinned import PINS, TEXT, schema

from merrow_analysis.tools.parameters import Parameter, ToolSignature, signature_of
from merrow_analysis.tools.pins import pinned


def signed(inputs: dict[str, Any], outputs: dict[str, Any] | None = None) -> ToolSignature:
    said = {} if outputs is None else {"outputSchema": outputs}
    return signature_of(pinned("a_b", {"name": "c.d", "inputSchema": inputs, **said}))


def one(body: object, required: bool = True, defs: Any = None) -> Parameter:
    return signed({**schema(["x"] if required else [], x=body), "$defs": defs}).parameters[0]


FLAT = schema(["title", "size"], title=TEXT, size={"type": "number"})


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (TEXT, "Text"),
        ({"type": "number"}, "Number"),
        ({"type": "integer"}, "Number"),
        ({"type": "boolean"}, "Bool"),
        ({"type": ["string", "null"]}, "Text"),
        ({"anyOf": [{"type": "null"}, TEXT]}, "Text"),
        ({"oneOf": [TEXT, {"type": "null"}]}, "Text"),
        ({"anyOf": [TEXT, {"type": "number"}]}, "Json"),
        ({"anyOf": [TEXT, {"type": "number"}, {"type": "null"}]}, "Json"),
        ({"type": ["string", "number"]}, "Json"),
        ({"type": "null"}, "Json"),
        ({"type": [["string"]]}, "Json"),
        ({}, "Json"),
        (True, "Json"),
        ({"type": "array", "items": TEXT}, "list[Text]"),
        ({"type": "array"}, "list[Json]"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "list[Json]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "list[list[Number]]"),
        ({"type": "object"}, "Json"),
        ({**TEXT, "enum": ["new", "used"]}, "ABCDX"),
        ({"enum": ["new", "used", "new"]}, "ABCDX"),
        ({**TEXT, "enum": []}, "Text"),
        ({"enum": ["new", 3]}, "Json"),
        ({"type": "integer", "enum": [1, 2]}, "Number"),
        (FLAT, "ABCDX"),
        ({"type": "array", "items": FLAT}, "list[ABCDXItem]"),
        ({**FLAT, "required": ["title"]}, "Json"),
        (schema(["inner"], inner=FLAT), "Json"),
        (schema(["inner"], inner={"type": "array", "items": FLAT}), "Json"),
        (schema(["inner"], inner={"type": "array", "items": TEXT}), "ABCDX"),
        (schema(["two words"], **{"two words": TEXT}), "Json"),
        (schema(["a", "A"], a=TEXT, A=TEXT), "Json"),
        ({"$ref": "https://example.org/schema"}, "Json"),
        ({"$ref": "#/nowhere"}, "Json"),
        ({"$ref": "#/properties/x"}, "Json"),
        ({"$ref": "#/$defs/a~1b"}, "Number"),
    ],
)
def test_the_type_of_a_parameter(body: object, type_: str) -> None:
    assert one(body, defs={"a/b": {"type": "integer"}}).type == type_


def test_references_are_followed_twenty_deep() -> None:
    chain: dict[str, Any] = {f"s{n}": {"$ref": f"#/$defs/s{n + 1}"} for n in range(30)}
    assert one({"$ref": "#/$defs/s10"}, defs={**chain, "s29": TEXT}).type == "Text"
    assert one({"$ref": "#/$defs/s9"}, defs={**chain, "s29": TEXT}).type == "Json"


def test_schemas_that_name_themselves_end() -> None:
    wide = {f"p{n}": {"$ref": "#/$defs/A"} for n in range(90)}
    deep = {"type": "array", "items": {"$ref": "#/$defs/L"}}
    signature = signed({**schema([*wide], **wide), "$defs": {"A": schema([*wide], **wide), "L": deep}})
    assert {parameter.type for parameter in signature.parameters} == {"Json"}
    assert one({"$ref": "#/$defs/L"}, defs={"L": deep}).type == "list[list[list[list[list[list[list[list[Json]]]]]]]]"
    flat = {f"q{n}": TEXT for n in range(100)}
    many = {f"p{n}": {"$ref": "#/$defs/R"} for n in range(100)}
    types = [p.type for p in signed({**schema([*many], **many), "$defs": {"R": schema([*flat], **flat)}}).parameters]
    assert types[0] == "ABCDP0"
    assert types[-1] == "Json"


def test_what_may_be_left_out() -> None:
    assert one(TEXT) == Parameter("x", "Text", required=True)
    assert not one(TEXT, required=False).required
    with_default = one({**TEXT, "default": "a", "description": "What it is."})
    assert (with_default.required, with_default.default, with_default.description) == (False, "a", "What it is.")
    nullable = one({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None})
    assert (nullable.required, nullable.nullable, nullable.whole) == (False, True, True)
    assert not one({"type": ["string", "null"]}).required
    assert not one({"type": "number"}).whole
    referred = one({"$ref": "#/$defs/a"}, defs={"a": {**TEXT, "default": "b", "description": "There."}})
    assert (referred.required, referred.default, referred.description) == (False, "b", "There.")
    words = one({**TEXT, "enum": ["new", "used", "new"]})
    assert words.words == ("new", "used")


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        (schema([], **{"two words": TEXT}), "no edge can name its parameter 'two words'"),
        (schema(["y"], x=TEXT), "it requires 'y'"),
        (schema([], **{f"p{n}": TEXT for n in range(101)}), "more than 100"),
    ],
)
def test_parameters_that_cannot_be_ports(inputs: dict[str, Any], why: str) -> None:
    signature = signed(inputs)
    assert why in str(signature.unusable)
    assert signature.parameters == ()


def test_a_tool_without_parameters_has_no_ports() -> None:
    for inputs in ({}, {"type": "object"}, {"properties": [1]}):
        assert signed(inputs) == signed(schema([]))
        assert signed(inputs).unusable is None


def _outputs(outputs: dict[str, Any] | None) -> dict[str, str]:
    return {port.name: port.type for port in signed(schema([]), outputs).outputs}


def test_the_fields_of_a_result_are_outputs() -> None:
    assert _outputs(None) == {"result": "Text"}
    assert _outputs({"type": "object"}) == {"result": "Json"}
    assert _outputs({"$ref": "#/$defs/x"}) == {"result": "Json"}
    assert _outputs(schema(["a"], **{"a": TEXT, "two words": TEXT})) == {"result": "Json"}
    fields = {"a": TEXT, "b": TEXT, "c": {"type": ["string", "null"]}, "d": {"enum": ["yes", "no"]}, "e": FLAT}
    assert _outputs(schema(["a", "c", "d", "e"], **fields)) == {
        "a": "Text",
        "b": "Json",
        "c": "Json",
        "d": "ABCDD",
        "e": "ABCDE",
    }
    signature = signed(schema([]), schema(["d", "e"], d={"enum": ["yes", "no"]}, e=FLAT))
    assert signature.words == {"ABCDD": ("yes", "no")}
    assert signature.records == {"ABCDE": {"title": "Text", "size": "Number"}}


def test_enumerations_are_called_by_their_tool_and_place() -> None:
    tool = PINS.find("shop.price")
    assert tool is not None
    signature = signature_of(tool)
    assert signature.words == {"ShopPriceGrade": ("new", "used")}
    assert [(p.name, p.type, p.required, p.whole) for p in signature.parameters] == [
        ("article", "Text", True, False),
        ("count", "Number", False, True),
        ("grade", "ShopPriceGrade", False, False),
    ]
    assert signature.parameter("grade") == signature.parameters[2]
    assert signature.parameter("colour") is None
