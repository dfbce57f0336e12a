"""Types of the values that flow along edges: nominal, single inheritance, ``Any`` on top.

A type is written as it is named, ``Text``, ``list[Code]``, and that canonical spelling *is* the value that stands
for it everywhere (a ``str``), so types can be compared, stored and shown as they are. What fits where is known to a
`TypeTable`: the built-in kinds, and those that a workflow's front matter adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from merrow_analysis.shared_values import RecentValues
from merrow_analysis.suggest import closest

Type = str
"""The canonical spelling of a type: a name, or ``list[...]`` around one."""

ANY: Type = "Any"
TEXT: Type = "Text"
PROBLEM: Type = "Problem"
ANSWER: Type = "Answer"
ANALYSIS: Type = "Analysis"
PLAN: Type = "Plan"
FEEDBACK: Type = "Feedback"
CODE: Type = "Code"
ENTRY_POINT: Type = "EntryPoint"
BOOL: Type = "Bool"
NUMBER: Type = "Number"
JSON: Type = "Json"
WORKFLOW: Type = "Workflow"

BUILT_IN: Mapping[str, Type | None] = {
    ANY: None,
    TEXT: ANY,
    BOOL: ANY,
    NUMBER: ANY,
    JSON: ANY,
    PROBLEM: TEXT,
    ANSWER: TEXT,
    ANALYSIS: TEXT,
    PLAN: TEXT,
    FEEDBACK: TEXT,
    CODE: TEXT,
    ENTRY_POINT: TEXT,
    WORKFLOW: TEXT,
}
"""The types of every workflow, each with the one that it is a kind of."""

TYPE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Z]")
_DEEPEST_LIST = 8
_MOST_LISTED = 20
"""Types that a message names."""


@dataclass(frozen=True, slots=True)
class Misspelled:
    """A word in a definition that names nothing, and the one that was probably meant, if any."""

    word: str
    near: str | None


class TypeExpressionError(ValueError):
    """A type expression that says nothing; the message is a sentence for the user."""

    def __init__(self, message: str, misspelled: Misspelled | None = None) -> None:
        super().__init__(message)
        self.misspelled = misspelled


@dataclass(frozen=True, slots=True)
class DefinitionProblem:
    """What is wrong with a definition in the front matter. ``path`` leads to the place: ``("types", "Draft")``."""

    path: tuple[str | int, ...]
    message: str
    misspelled: Misspelled | None = None


def list_of(item: Type) -> Type:
    """The type of lists of ``item``."""
    return f"list[{item}]"


def item_of(type_: Type) -> Type | None:
    """The type of a list's items, or None for a type that is not a list."""
    return type_[5:-1] if type_.startswith("list[") else None


def innermost(type_: Type) -> Type:
    """The type without the lists around it."""
    while (item := item_of(type_)) is not None:
        type_ = item
    return type_


def is_variable(type_: Type) -> bool:
    """Whether this is a type variable of an operator's signature: one capital letter."""
    return len(type_) == 1 and _VARIABLE.fullmatch(type_) is not None


_MOST_DISTANCES = 5_000


@dataclass(frozen=True, eq=False)
class TypeTable:
    """All types of one workflow: the parent of each named one, the words of each enumeration, the fields of each record
    with their types, and the kinds of each union. Records and unions are kinds of Json; ``broken`` are those that are declared
    wrongly, of which nothing is known.
    """

    parents: Mapping[str, Type | None] = field(default_factory=lambda: dict(BUILT_IN))
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    unions: Mapping[str, tuple[Type, ...]] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    _known: RecentValues[tuple[Type, Type], tuple[int | None]] = field(
        default_factory=lambda: RecentValues(_MOST_DISTANCES), repr=False
    )

    def distance(self, given: Type, wanted: Type) -> int | None:
        """How many steps up the hierarchy lead from ``given`` to ``wanted``; None when the value does not fit."""
        if given == wanted:
            return 0
        known = self._known.get((given, wanted))
        if known is None:
            known = self._known.keep((given, wanted), (self._climb(given, wanted),))
        return known[0]

    def fits(self, given: Type, wanted: Type) -> bool:
        """Whether a value of type ``given`` may flow where ``wanted`` is asked for: it is that type or a kind of it."""
        return given == wanted or self.distance(given, wanted) is not None

    def common(self, types: Iterable[Type]) -> Type:
        """The closest kind that all ``types`` are of; `ANY` for none at all."""
        result: Type | None = None
        for type_ in types:
            result = type_ if result is None else self._common_of_two(result, type_)
        return ANY if result is None else result

    def parse(self, text: str, *, variables: bool = False) -> Type:
        """Read a type expression, ``Code`` or ``list[ Code ]``.

        With ``variables``, a single capital letter that names no type is a type variable, as operators' signatures
        use it.
        Raises `TypeExpressionError` with a sentence that says what is wrong.
        """
        inner = text.strip()
        depth = 0
        while inner.startswith("list"):
            rest = inner[4:].strip()
            if not rest.startswith("["):
                break
            if not rest.endswith("]"):
                raise TypeExpressionError(f"`{text.strip()}` is not a type: the bracket of `list[...]` is not closed.")
            inner = rest[1:-1].strip()
            depth += 1
            if depth > _DEEPEST_LIST:
                raise TypeExpressionError(f"A type nests at most {_DEEPEST_LIST} lists.")
        if not inner:
            raise TypeExpressionError("A type is missing: write one such as `Text`, `Code` or `list[Text]`.")
        if inner == "list":
            raise TypeExpressionError("`list` needs the type of its items: write `list[Text]`, for example.")
        if not TYPE_NAME.fullmatch(inner):
            raise TypeExpressionError(f"`{text.strip()}` is not a type: write a name such as `Text`, or `list[Text]`.")
        if inner not in self.parents and not (variables and is_variable(inner)):
            near = closest(inner, self.parents)
            hint = f"did you mean `{near}`?" if near else f"{self._some()}."
            raise TypeExpressionError(f"There is no type `{inner}`; {hint}", Misspelled(inner, near))
        return "list[" * depth + inner + "]" * depth

    def _some(self) -> str:
        """The types, or the first of them where there are many."""
        more = len(self.parents) - _MOST_LISTED
        named = ", ".join(islice(self.parents, _MOST_LISTED))
        return f"the types are {named}" if more <= 0 else f"some of the {len(self.parents)} types are {named}"

    def words_of(self, type_: Type) -> tuple[str, ...] | None:
        """The words of an enumeration (or of a type made from one), or None for other types."""
        return next((self.words[name] for name in self.ancestors(type_) if name in self.words), None)

    def fields_of(self, type_: Type) -> Mapping[str, Type] | None:
        """The fields of a record (or of a kind of one) with their types, or None for other types."""
        return next((self.records[name] for name in self.ancestors(type_) if name in self.records), None)

    def kinds_of(self, type_: Type) -> tuple[Type, ...] | None:
        """The kinds of a union (or of a type made from one), or None for other types."""
        return next((self.unions[name] for name in self.ancestors(type_) if name in self.unions), None)

    def is_broken(self, type_: Type) -> bool:
        """Whether the fields or kinds of a type are not known, since it is declared wrongly."""
        return bool(self.broken) and any(name in self.broken for name in self.ancestors(type_))

    def field_at(self, type_: Type, path: str) -> Type | None:
        """The type of a field, or of a field of a field (``place.city``); None where there is none."""
        current: Type | None = type_
        for name in path.split("."):
            fields = None if current is None else self.fields_of(current)
            current = None if fields is None else fields.get(name)
        return current

    def keys_to_list(self, type_: Type, keys: Sequence[str]) -> int | None:
        """How many of the ``keys`` of a path of fields lead to the first list on it, of whose items the rest are fields; None
        where no list is on the path.
        """
        at: Type | None = type_
        for count, key in enumerate(keys):
            if at is None or item_of(at) is not None:
                return None if at is None else count
            at = self.field_at(at, key)
        return None if at is None or item_of(at) is None else len(keys)

    def field_of_items(self, type_: Type, keys: Sequence[str]) -> Type | None:
        """What a path of fields leads to where the first list on it is taken apart; None where no list is on it, and where
        the items have no such field.
        """
        count = self.keys_to_list(type_, keys)
        if count is None:
            return None
        items = self.field_at(type_, ".".join(keys[:count])) if count else type_
        item = None if items is None else item_of(items)
        return item if item is None or count == len(keys) else self.field_at(item, ".".join(keys[count:]))

    def ancestors(self, type_: Type) -> list[Type]:
        """A named type, what it is a kind of, and so on up to `ANY`."""
        chain: list[Type] = []
        current: Type | None = type_
        while current is not None:
            chain.append(current)
            current = self.parents.get(current)
        return chain

    def _climb(self, given: Type, wanted: Type) -> int | None:
        given_item, wanted_item = item_of(given), item_of(wanted)
        if given_item is not None:
            if wanted == ANY:
                return 1
            return None if wanted_item is None else self.distance(given_item, wanted_item)
        chain = self.ancestors(given)
        return chain.index(wanted) if wanted in chain else None

    def _common_of_two(self, first: Type, second: Type) -> Type:
        first_item, second_item = item_of(first), item_of(second)
        if first_item is not None and second_item is not None:
            return list_of(self._common_of_two(first_item, second_item))
        if first_item is not None or second_item is not None:
            return ANY
        above = set(self.ancestors(first))
        return next((name for name in self.ancestors(second) if name in above), ANY)


BUILT_IN_TYPES = TypeTable()
"""The types of every workflow."""
