"""How a JSON Schema is applied to a value: schema by schema and keyword by keyword, each paid for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from merrow_analysis.bounded.allowance import Allowance, TooMuchError, size_of
from merrow_analysis.bounded.patterns import Search, compiled
from merrow_analysis.bounded.schema_words import cut, shown

STEP = 20
"""What applying a keyword costs."""
_DEEPEST = 150
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")

Path = tuple[str | int, ...]


class SchemaRefusedError(Exception):
    """A schema can't be worked through; the end of a sentence that begins with its name says why."""


class SchemaViolation(NamedTuple):
    """What is wrong with a value: where, and how to put it into words."""

    path: Path
    words: Callable[[], str]


class At(NamedTuple):
    """A keyword that is applied: what it says, the value that it is applied to, the schema that it is in, and the place of the
    value.
    """

    check: SchemaCheck
    said: Any
    value: Any
    schema: Mapping[str, Any]
    path: Path


class Keyword(NamedTuple):
    """A keyword of JSON Schema: which values it is about, and what is wrong with one of them."""

    is_about: Callable[[Any], bool]
    check: Callable[[At], SchemaViolation | None]


class SchemaCheck:
    """One value and one schema. ``_at_work`` are the schemas that are being applied to a value, innermost last."""

    def __init__(self, schema: Mapping[str, Any], keywords: Mapping[str, Keyword], allowance: Allowance) -> None:
        self._root, self._keywords = schema, keywords
        self._allowance = allowance
        self._at_work: set[tuple[int, int]] = set()
        self._named: dict[str, Any] | None = None
        self._searches: dict[str, Search] = {}

    def fault(self, schema: Any, value: Any, path: Path) -> SchemaViolation | None:
        """What is wrong first with a value at a place."""
        if schema is True:
            return None
        if schema is False:
            return SchemaViolation(path, lambda: f"False schema does not allow {shown(value)}")
        self._allowance.take(STEP)
        mark = (id(schema), id(value))
        with _Inside(self._at_work, mark):
            for key, argument in schema.items():
                self._allowance.take(STEP)
                keyword = self._keywords.get(key)
                if keyword is not None and keyword.is_about(value):
                    # Each keyword may look once at all that it says, and at all parts of the value.
                    self._allowance.take(
                        len(argument) // 16 if isinstance(argument, str) else _parts(argument) + _parts(value)
                    )
                    fault = keyword.check(At(self, argument, value, schema, path))
                    if fault is not None:
                        return fault
        return None

    def holds(self, schema: Any, value: Any) -> bool:
        """Whether a value is valid by a schema in this one."""
        return self.fault(schema, value, ()) is None

    def found(self, pattern: str, text: str) -> bool:
        """Whether a pattern is found in a text."""
        # Reading a pattern costs far more than finding it, so each is read once.
        search = self._searches.get(pattern)
        if search is None:
            search = self._searches[pattern] = compiled(pattern)
        return search(text, self._allowance)

    def pay(self, value: object) -> None:
        """Take the size of a value from the allowance."""
        size_of(value, self._allowance)

    def referred(self, reference: str) -> Any:
        """The schema that a reference names. Raises `SchemaRefusedError` where it is not in this one."""
        self._allowance.take(len(reference))
        address, _, place = reference.partition("#")
        if place and not place.startswith("/"):
            target = self._names().get(f"#{place}")
        else:
            target = self._names().get(address) if address else self._root
            for part in place.split("/")[1:]:
                self._allowance.take(1)
                target = _child(target, _unescaped(part))
        if not isinstance(target, (dict, bool)):
            raise SchemaRefusedError(f"refers to {cut(reference)}, which is not in it")
        return target

    def _names(self) -> Mapping[str, Any]:
        """The schemas that have an ``$id`` or an ``$anchor``, by these."""
        if self._named is None:
            self._named = {}
            for part in _parts_of(self._root):
                self._allowance.take(STEP)
                for key, before in (("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
                    if isinstance(part.get(key), str):
                        self._named.setdefault(before + part[key].removesuffix("#"), part)
        return self._named

    def evaluated_keys(self, schema: Any, value: Mapping[str, Any]) -> set[str]:
        """The properties that a schema says something about, as ``unevaluatedProperties`` counts them."""
        keys: set[str] = set()
        for subschema in self._applied(schema, value, ("dependentSchemas",)):
            self._allowance.take(_parts(value))
            keys |= subschema.get("properties", {}).keys() & value.keys()
            for key in ("additionalProperties", "unevaluatedProperties"):
                if key in subschema:
                    others = self.additional(subschema, value) if key == "additionalProperties" else value
                    keys |= {name for name in others if self.holds(subschema[key], value[name])}
            patterns = subschema.get("patternProperties", {})
            keys |= {name for name in value for pattern in patterns if self.found(pattern, name)}
        return keys

    def evaluated_items(self, schema: Any, value: Sequence[Any]) -> set[int]:
        """The numbers of the items that a schema says something about, as ``unevaluatedItems`` counts them."""
        items: set[int] = set()
        for subschema in self._applied(schema, value, ()):
            self._allowance.take(_parts(value))
            items |= set(range(len(value) if "items" in subschema else len(subschema.get("prefixItems", ()))))
            for key in ("contains", "unevaluatedItems"):
                if key in subschema:
                    items |= {number for number, item in enumerate(value) if self.holds(subschema[key], item)}
        return items

    def additional(self, schema: Mapping[str, Any], value: Mapping[str, Any]) -> list[str]:
        """The properties of a value that ``additionalProperties`` is about."""
        named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        self._allowance.take(_parts(value))
        return [
            name for name in value if name not in named and not any(self.found(pattern, name) for pattern in patterns)
        ]

    def _applied(self, schema: Any, value: Any, more: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
        """A schema and those in it that apply to the same value and hold of it."""
        waiting = [schema]
        seen: set[int] = set()
        for subschema in waiting:  # It grows meanwhile.
            self._allowance.take(STEP)
            if isinstance(subschema, bool) or id(subschema) in seen:
                continue
            seen.add(id(subschema))
            yield subschema
            waiting += [self.referred(subschema[key]) for key in ("$ref", "$dynamicRef") if key in subschema]
            for key in more:
                self._allowance.take(_parts(subschema.get(key)))
                waiting += [inner for name, inner in subschema.get(key, {}).items() if name in value]
            for key in ("allOf", "anyOf", "oneOf"):
                waiting += [inner for inner in subschema.get(key, ()) if self.holds(inner, value)]
            if "if" in subschema:
                held = self.holds(subschema["if"], value)
                waiting += [subschema["if"], subschema.get("then", True)] if held else [subschema.get("else", True)]


class _Inside:
    """Keeps count of what is applied to what, so that nothing is applied to the same value inside itself."""

    def __init__(self, at_work: set[tuple[int, int]], mark: tuple[int, int]) -> None:
        self._at_work, self._mark = at_work, mark

    def __enter__(self) -> None:
        if self._mark in self._at_work:
            raise SchemaRefusedError("leads back to itself without end")
        if len(self._at_work) >= _DEEPEST:
            raise TooMuchError(f"nests more than {_DEEPEST} deep with this value; write a simpler one")
        self._at_work.add(self._mark)

    def __exit__(self, *_: object) -> None:
        self._at_work.discard(self._mark)


def _parts(of: object) -> int:
    return len(of) if isinstance(of, (dict, list)) else 0


def _parts_of(schema: object) -> Iterator[dict[str, Any]]:
    """All mappings in a schema, each once."""
    waiting: list[object] = [schema]
    seen: set[int] = set()
    for part in waiting:  # It grows meanwhile.
        if isinstance(part, (dict, list)) and id(part) not in seen:
            seen.add(id(part))
            waiting += part.values() if isinstance(part, dict) else part
            if isinstance(part, dict):
                yield part


def _child(of: Any, name: str) -> Any:
    if isinstance(of, list) and name.isascii() and name.isdigit() and len(name) < 9:
        return of[int(name)] if int(name) < len(of) else None
    return of.get(name) if isinstance(of, dict) else None


def _unescaped(part: str) -> str:
    plain = _ESCAPE.sub(lambda code: bytes.fromhex(code[1].decode()), part.encode("utf-8", "surrogatepass"))
    part = plain.decode("utf-8", "replace")
    return part.replace("~1", "/").replace("~0", "~")
