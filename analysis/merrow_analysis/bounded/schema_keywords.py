"""The keywords of JSON Schema, each with what is wrong with a value that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

from merrow_analysis.bounded.allowance import TooMuchError
from merrow_analysis.bounded.schema_check import At, Keyword, Path, SchemaCheck, SchemaViolation
from merrow_analysis.bounded.schema_words import LONGEST, shown


def is_number(value: object) -> bool:
    """Whether a value is a number of JSON."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return value.is_integer() if isinstance(value, float) else is_number(value)


TYPES: Mapping[str, Callable[[object], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "null": lambda value: value is None,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
"""The types of JSON Schema."""


def _any(_: object) -> bool:
    return True


def _key(value: object) -> str:
    """A text that equal values of JSON have in common. A text, since numbers can be chosen to share the place in a set."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{name!r}:{_key(part)}" for name, part in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_key, value)) + "]"
    if is_number(value) and _is_integer(value):
        return f"{int(value):x}"  # type: ignore[call-overload]
    return repr(value)


def _equal(check: SchemaCheck, value: Any, other: Any) -> bool:
    if isinstance(value, (dict, list)) and type(value) is type(other):
        check.pay(value)
        check.pay(other)
        return bool(_deep(_key, value) == _deep(_key, other))
    return bool(value == other) and isinstance(value, bool) is isinstance(other, bool)


def _deep(make: Callable[[Any], Any], value: Any) -> Any:
    try:
        return make(value)
    except RecursionError:
        raise TooMuchError("compares values that nest too deep") from None


def _type(at: At) -> SchemaViolation | None:
    types = [at.said] if isinstance(at.said, str) else at.said
    if any(TYPES[name](at.value) for name in types):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} is not of type {', '.join(map(repr, types))}")


def _enum(at: At) -> SchemaViolation | None:
    at.check.pay(at.said)
    if any(_equal(at.check, choice, at.value) for choice in at.said):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} is not one of {shown(at.said)}")


def _const(at: At) -> SchemaViolation | None:
    return (
        None
        if _equal(at.check, at.value, at.said)
        else SchemaViolation(at.path, lambda: f"{shown(at.said)} was expected")
    )


def _reference(at: At) -> SchemaViolation | None:
    return at.check.fault(at.check.referred(at.said), at.value, at.path)


def _all_of(at: At) -> SchemaViolation | None:
    return next(
        (fault for subschema in at.said if (fault := at.check.fault(subschema, at.value, at.path)) is not None), None
    )


def _any_of(at: At) -> SchemaViolation | None:
    if any(at.check.holds(subschema, at.value) for subschema in at.said):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} is not valid under any of the given schemas")


def _one_of(at: At) -> SchemaViolation | None:
    held = [subschema for subschema in at.said if at.check.holds(subschema, at.value)]
    if not held:
        return SchemaViolation(at.path, lambda: f"{shown(at.value)} is not valid under any of the given schemas")
    several = [*held[1:], held[0]]
    if len(several) == 1:
        return None
    return SchemaViolation(
        at.path, lambda: f"{shown(at.value)} is valid under each of {', '.join(map(shown, several[:10]))}"
    )


def _not(at: At) -> SchemaViolation | None:
    if not at.check.holds(at.said, at.value):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} should not be valid under {shown(at.said)}")


def _if(at: At) -> SchemaViolation | None:
    return at.check.fault(
        at.schema.get("then" if at.check.holds(at.said, at.value) else "else", True), at.value, at.path
    )


def _bound(holds: Callable[[Any, Any], bool], words: str) -> Callable[[At], SchemaViolation | None]:
    def keyword(at: At) -> SchemaViolation | None:
        if holds(at.value, at.said):
            return None
        return SchemaViolation(at.path, lambda: f"{shown(at.value)} is {words} of {shown(at.said)}")

    return keyword


def _multiple_of(at: At) -> SchemaViolation | None:
    if _is_multiple(at.value, at.said):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} is not a multiple of {shown(at.said)}")


def _is_multiple(value: Any, of: Any) -> bool:
    if isinstance(value, float) and not isfinite(value):  # JSON's 1e999
        return False
    if not isinstance(of, float):
        return not value % of
    try:
        quotient = value / of
        return bool(int(quotient) == quotient)
    except OverflowError:
        return (Fraction(value) / Fraction(of)).denominator == 1


def _length(*, least: bool, of_object: bool = False) -> Callable[[At], SchemaViolation | None]:
    short, empty = ("is too short", "should be non-empty") if least else ("is too long", "is expected to be empty")
    if of_object:
        short = "does not have enough properties" if least else "has too many properties"

    def keyword(at: At) -> SchemaViolation | None:
        if len(at.value) >= at.said if least else len(at.value) <= at.said:
            return None
        return SchemaViolation(
            at.path, lambda: f"{shown(at.value)} {empty if at.said == (1 if least else 0) else short}"
        )

    return keyword


def _pattern(at: At) -> SchemaViolation | None:
    if at.check.found(at.said, at.value):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} does not match {at.said!r}")


def _unique(at: At) -> SchemaViolation | None:
    if not at.said:
        return None
    at.check.pay(at.value)
    if len(_deep(lambda items: set(map(_key, items)), at.value)) == len(at.value):
        return None
    return SchemaViolation(at.path, lambda: f"{shown(at.value)} has non-unique elements")


def _items(at: At) -> SchemaViolation | None:
    first = len(at.schema.get("prefixItems", ()))
    if len(at.value) <= first:
        return None
    if at.said is False:
        rest = at.value[first:] if len(at.value) - first != 1 else at.value[first]
        items = "items" if first != 1 else "item"
        return SchemaViolation(
            at.path, lambda: f"Expected at most {first} {items} but found {len(at.value) - first} extra: {shown(rest)}"
        )
    return _each(at.check, ((number, at.value[number], at.said) for number in range(first, len(at.value))), at.path)


def _prefix_items(at: At) -> SchemaViolation | None:
    return _each(
        at.check, ((number, *both) for number, both in enumerate(zip(at.value, at.said, strict=False))), at.path
    )


def _each(check: SchemaCheck, parts: Iterator[tuple[str | int, Any, Any]], path: Path) -> SchemaViolation | None:
    """The first fault of several parts of a value, each with the schema that it has."""
    for name, part, schema in parts:
        fault = check.fault(schema, part, (*path, name))
        if fault is not None:
            return fault
    return None


def _contains(at: At) -> SchemaViolation | None:
    least, most = at.schema.get("minContains", 1), at.schema.get("maxContains", len(at.value))
    count = sum(at.check.holds(at.said, item) for item in at.value)
    if count > most:
        return SchemaViolation(at.path, lambda: f"Too many items match the given schema (expected at most {most})")
    if count >= least:
        return None
    if not count:
        return SchemaViolation(at.path, lambda: f"{shown(at.value)} does not contain items matching the given schema")
    return SchemaViolation(
        at.path,
        lambda: f"Too few items match the given schema (expected at least {least} but only {count} matched)",
    )


def _properties(at: At) -> SchemaViolation | None:
    return _each(
        at.check, ((name, at.value[name], inner) for name, inner in at.said.items() if name in at.value), at.path
    )


def _pattern_properties(at: At) -> SchemaViolation | None:
    parts = (
        (name, part, inner)
        for pattern, inner in at.said.items()
        for name, part in at.value.items()
        if at.check.found(pattern, name)
    )
    return _each(at.check, parts, at.path)


def _property_names(at: At) -> SchemaViolation | None:
    return next((fault for name in at.value if (fault := at.check.fault(at.said, name, at.path)) is not None), None)


def _additional_properties(at: At) -> SchemaViolation | None:
    extras = at.check.additional(at.schema, at.value)
    if at.said is not False:
        return _each(at.check, ((name, at.value[name], at.said) for name in extras), at.path)
    if not extras:
        return None
    patterns = sorted(at.schema.get("patternProperties", ()))
    if patterns:
        verb = "does" if len(extras) == 1 else "do"
        listed = ", ".join(map(repr, patterns))
        return SchemaViolation(
            at.path, lambda: f"{_listed(sorted(extras))} {verb} not match any of the regexes: {listed}"
        )
    return SchemaViolation(
        at.path, lambda: f"Additional properties are not allowed ({_extras(sorted(extras))} unexpected)"
    )


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(shown, values[:LONGEST]))


def _extras(values: Sequence[Any]) -> str:
    return f"{_listed(values)} {'was' if len(values) == 1 else 'were'}"


def _required(at: At) -> SchemaViolation | None:
    missing = next((name for name in at.said if name not in at.value), None)
    return None if missing is None else SchemaViolation(at.path, lambda: f"{missing!r} is a required property")


def _dependent_required(at: At) -> SchemaViolation | None:
    for name, needed in at.said.items():
        missing = next((key for key in needed if key not in at.value), None) if name in at.value else None
        if missing is not None:
            return _without_dependency(at, missing, name)
    return None


def _without_dependency(at: At, missing: str, name: str) -> SchemaViolation:
    return SchemaViolation(at.path, lambda: f"{missing!r} is a dependency of {name!r}")


def _dependent_schemas(at: At) -> SchemaViolation | None:
    applied = (inner for name, inner in at.said.items() if name in at.value)
    return next(
        (fault for subschema in applied if (fault := at.check.fault(subschema, at.value, at.path)) is not None), None
    )


def _unevaluated_items(at: At) -> SchemaViolation | None:
    known = at.check.evaluated_items(at.schema, at.value)
    rest = [item for number, item in enumerate(at.value) if number not in known]
    return (
        SchemaViolation(at.path, lambda: f"Unevaluated items are not allowed ({_extras(rest)} unexpected)")
        if rest
        else None
    )


def _unevaluated_properties(at: At) -> SchemaViolation | None:
    known = at.check.evaluated_keys(at.schema, at.value)
    rest = [name for name in at.value if name not in known and not at.check.holds(at.said, at.value[name])]
    if not rest:
        return None
    if at.said is False:
        return SchemaViolation(
            at.path, lambda: f"Unevaluated properties are not allowed ({_extras(sorted(rest))} unexpected)"
        )
    words = "Unevaluated properties are not valid under the given schema"
    return SchemaViolation(at.path, lambda: f"{words} ({_extras(rest)} unevaluated and invalid)")


KEYWORDS: Mapping[str, Keyword] = {
    "$dynamicRef": Keyword(_any, _reference),
    "$ref": Keyword(_any, _reference),
    "additionalProperties": Keyword(TYPES["object"], _additional_properties),
    "allOf": Keyword(_any, _all_of),
    "anyOf": Keyword(_any, _any_of),
    "const": Keyword(_any, _const),
    "contains": Keyword(TYPES["array"], _contains),
    "dependentRequired": Keyword(TYPES["object"], _dependent_required),
    "dependentSchemas": Keyword(TYPES["object"], _dependent_schemas),
    "enum": Keyword(_any, _enum),
    "exclusiveMaximum": Keyword(
        TYPES["number"], _bound(lambda value, limit: bool(value < limit), "greater than or equal to the maximum")
    ),
    "exclusiveMinimum": Keyword(
        TYPES["number"], _bound(lambda value, limit: bool(value > limit), "less than or equal to the minimum")
    ),
    "if": Keyword(_any, _if),
    "items": Keyword(TYPES["array"], _items),
    "maxItems": Keyword(TYPES["array"], _length(least=False)),
    "maxLength": Keyword(TYPES["string"], _length(least=False)),
    "maxProperties": Keyword(TYPES["object"], _length(least=False, of_object=True)),
    "maximum": Keyword(TYPES["number"], _bound(lambda value, limit: bool(value <= limit), "greater than the maximum")),
    "minItems": Keyword(TYPES["array"], _length(least=True)),
    "minLength": Keyword(TYPES["string"], _length(least=True)),
    "minProperties": Keyword(TYPES["object"], _length(least=True, of_object=True)),
    "minimum": Keyword(TYPES["number"], _bound(lambda value, limit: bool(value >= limit), "less than the minimum")),
    "multipleOf": Keyword(TYPES["number"], _multiple_of),
    "not": Keyword(_any, _not),
    "oneOf": Keyword(_any, _one_of),
    "pattern": Keyword(TYPES["string"], _pattern),
    "patternProperties": Keyword(TYPES["object"], _pattern_properties),
    "prefixItems": Keyword(TYPES["array"], _prefix_items),
    "properties": Keyword(TYPES["object"], _properties),
    "propertyNames": Keyword(TYPES["object"], _property_names),
    "required": Keyword(TYPES["object"], _required),
    "type": Keyword(_any, _type),
    "unevaluatedItems": Keyword(TYPES["array"], _unevaluated_items),
    "unevaluatedProperties": Keyword(TYPES["object"], _unevaluated_properties),
    "uniqueItems": Keyword(TYPES["array"], _unique),
}
"""All of them, by name."""
