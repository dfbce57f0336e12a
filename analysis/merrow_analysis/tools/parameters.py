"""What a pinned tool takes and gives, read off its JSON Schemas as Merrow's types.

- ``string`` is Text, ``number`` and ``integer`` are Number, ``boolean`` is Bool; an ``enum`` of texts is an enumeration.
- ``array`` is a list of what its ``items`` are; an object whose properties are all flat is a record, another one Json.
- ``["T", "null"]``, and a choice between a T and null, is a T that need not be given, and Json where it is a result, as is a
  field that may be absent. Anything else (``oneOf``, a reference elsewhere) is Json.

An enumeration or a record is a type that no front matter declares. It is called by its tool and its place (`ShopPriceGrade`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.definitions.operators import InputPort, OutputPort
from merrow_analysis.definitions.types import BOOL, JSON, NUMBER, TEXT, TYPE_NAME, Type, innermost, list_of
from merrow_analysis.tools.pins import PinnedTool

RESULT = "result"
"""The output of a tool whose result has no fields of its own."""

MOST_PARAMETERS = 100
_MOST_WORDS = 1_000
_MOST_REFERENCES = 20
_DEEPEST = 8
"""Lists in lists, as far as types nest."""
_MOST_READ = 5_000
"""Schemas that are looked at for one tool; what comes after these is Json."""

_PLAIN: Mapping[str, Type] = {"string": TEXT, "number": NUMBER, "integer": NUMBER, "boolean": BOOL}
_WORD = re.compile(r"[A-Za-z0-9]+")
_NO_DEFAULT = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool. ``whole`` is a number without a fraction: such a one is checked when it is sent. ``nullable`` takes
    null as well. ``words`` are those of an enumeration; ``default`` is what the server takes where nothing is given, None where
    it says nothing.
    """

    name: str
    type: Type
    required: bool
    whole: bool = False
    nullable: bool = False
    words: tuple[str, ...] = ()
    description: str = ""
    default: Any = None

    @property
    def port(self) -> InputPort:
        """The port that it is in a workflow."""
        return InputPort(self.name, self.type, required=self.required, many=self.type.startswith("list["))


@dataclass(frozen=True, slots=True)
class ToolSignature:
    """What a tool takes and gives. ``words`` and ``records`` are the enumerations and records among its types, by name.
    ``unusable`` is the end of a sentence: why its parameters can't be ports; None where they can.
    """

    parameters: tuple[Parameter, ...]
    outputs: tuple[OutputPort, ...]
    words: Mapping[Type, tuple[str, ...]]
    records: Mapping[Type, Mapping[str, Type]]
    unusable: str | None = None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter with this name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def signature_of(tool: PinnedTool) -> ToolSignature:
    """The parameters and the outputs of a tool, in the order of its schemas. Never raises, and takes linear time."""
    reader = _Types(tool.input_schema, tool.full_name)
    properties = _properties(tool.input_schema)
    required = tool.input_schema.get("required")
    names = set(filter(_is_text, required)) if isinstance(required, list) else set()
    unusable = None
    if len(properties) > MOST_PARAMETERS:
        unusable = f"it has more than {MOST_PARAMETERS} parameters"
    odd = next((name for name in properties if not TYPE_NAME.fullmatch(name)), None)
    if odd is not None:
        unusable = f"no edge can name its parameter {ascii(odd)[:100]}"
    elsewhere = next((name for name in sorted(names) if name not in properties), None)
    if elsewhere is not None:
        unusable = f"it requires {ascii(elsewhere)[:100]}, which is none of its parameters"
    parameters = () if unusable else tuple(reader.parameter(name, body, names) for name, body in properties.items())
    results = _Types(tool.output_schema or {}, tool.full_name)
    outputs = _outputs(results, tool.output_schema)
    return ToolSignature(
        parameters, outputs, {**reader.words, **results.words}, {**reader.records, **results.records}, unusable
    )


def _outputs(reader: _Types, schema: Mapping[str, Any] | None) -> tuple[OutputPort, ...]:
    if schema is None:
        return (OutputPort(RESULT, TEXT),)
    properties = _properties(schema)
    if not properties or len(properties) > MOST_PARAMETERS or not all(map(TYPE_NAME.fullmatch, properties)):
        return (OutputPort(RESULT, JSON),)
    required = schema.get("required")
    given = required if isinstance(required, list) else []
    return tuple(
        OutputPort(name, JSON if nullable or name not in given else type_)
        for name, body in properties.items()
        for type_, _, nullable in (reader.read(body, name),)
    )


class _Types:
    """The types in one schema, with those that it makes."""

    def __init__(self, root: Mapping[str, Any], tool: str) -> None:
        self._root, self._tool = root, tool
        self._left = _MOST_READ
        self.words: dict[Type, tuple[str, ...]] = {}
        self.records: dict[Type, Mapping[str, Type]] = {}

    def parameter(self, name: str, body: object, required: set[str]) -> Parameter:
        type_, schema, nullable = self.read(body, name)
        described = next((text for part in (body, schema) if _is_text(text := _get(part, "description"))), "")
        default = _get(body, "default", _get(schema, "default", _NO_DEFAULT))
        return Parameter(
            name,
            type_,
            name in required and not nullable and default is _NO_DEFAULT,
            whole=_kind(schema)[0] == "integer",
            nullable=nullable,
            words=self.words.get(type_, ()),
            description=described,
            default=None if default is _NO_DEFAULT else default,
        )

    def read(
        self, body: object, place: str, depth: int = 0, *, in_record: bool = False
    ) -> tuple[Type, Mapping[str, Any], bool]:
        """The type that a schema describes, the schema without references, and whether null is one of its values."""
        self._left -= 1
        if self._left < 0:
            return JSON, {}, True
        schema = self._referred(body)
        choices = schema.get("anyOf", schema.get("oneOf"))
        others = [part for part in choices if _get(part, "type") != "null"] if isinstance(choices, list) else []
        one_or_null = len(others) == 1 and len(choices) == 2
        if one_or_null:
            schema = self._referred(others[0])
        kind, nullable = _kind(schema)
        return self._type(kind, schema, place, depth, in_record=in_record), schema, nullable or one_or_null

    def _type(self, kind: str | None, schema: Mapping[str, Any], place: str, depth: int, *, in_record: bool) -> Type:
        words = schema.get("enum")
        if words is not None:
            known = [word for word in words if word is not None] if isinstance(words, list) else []
            if kind not in ("string", None) or not known or len(known) > _MOST_WORDS or not all(map(_is_text, known)):
                return _PLAIN.get(kind or "", JSON)
            name = self._named(place)
            self.words[name] = tuple(dict.fromkeys(known))
            return name
        if kind is not None and kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "array" and depth < _DEEPEST:
            item, _, nullable = self.read(schema.get("items"), f"{place} item", depth + 1, in_record=in_record)
            return list_of(JSON if nullable else item)
        return self._record(schema, place, depth) if kind == "object" and not in_record else JSON

    def _record(self, schema: Mapping[str, Any], place: str, depth: int) -> Type:
        """A record of flat properties, all of which are there; else Json."""
        properties, required = _properties(schema), schema.get("required")
        if not properties or len(properties) > MOST_PARAMETERS or not isinstance(required, list):
            return JSON
        folded = {name.casefold() for name in properties}
        if len(folded) < len(properties) or not all(
            TYPE_NAME.fullmatch(name) and name in required for name in properties
        ):
            return JSON
        before = dict(self.words)
        fields: dict[str, Type] = {}
        for field, body in properties.items():
            type_, _, nullable = self.read(body, f"{place} {field}", depth, in_record=True)
            if nullable or innermost(type_) == JSON:
                self.words = before
                return JSON
            fields[field] = type_
        name = self._named(place)
        self.records[name] = fields
        return name

    def _named(self, place: str) -> Type:
        parts = _WORD.findall(f"{self._tool} {place}")
        name = "".join(part[:1].upper() + part[1:] for part in parts)
        return name if TYPE_NAME.fullmatch(name) else f"T{name}"

    def _referred(self, body: object) -> Mapping[str, Any]:
        """A schema, or the one in the same file that it refers to."""
        for _ in range(_MOST_REFERENCES + 1):
            reference = _get(body, "$ref")
            if reference is None:
                return body if isinstance(body, dict) else {}
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            target: object = self._root
            for part in reference[2:].split("/", 100)[:100]:
                target = _get(target, part.replace("~1", "/").replace("~0", "~"))
            body = target
        return {}


def _kind(schema: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The one type of values that a schema names, None where there is no such; and whether null is allowed beside it."""
    kind = schema.get("type")
    if isinstance(kind, list):
        others = [name for name in kind if name != "null"]
        return (others[0] if len(others) == 1 and isinstance(others[0], str) else None), len(others) < len(kind)
    return (kind if isinstance(kind, str) else None), kind == "null"


def _properties(schema: Mapping[str, Any]) -> Mapping[str, object]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _get(value: object, key: str, otherwise: Any = None) -> Any:
    return value.get(key, otherwise) if isinstance(value, dict) else otherwise


def _is_text(value: object) -> bool:
    return isinstance(value, str)
