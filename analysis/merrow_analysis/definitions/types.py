"""Types of the values that flow along edges: nominal, single inheritance, ``Any`` on top.

A type is written as it is named, ``Text``, ``list[Code]``, and that canonical spelling *is* the value that stands
for it everywhere (a ``str``), so types can be compared, stored and shown as they are. What fits where is known to a
`TypeTable`: the built-in kinds, and those that a workflow's front matter adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from merrow_analysis.suggest import Guesses, closest

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

_BUILT_IN: dict[str, Type | None] = {
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
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Z]")
_DEEPEST_LIST = 8
_MOST_LISTED = 20
"""Types that a message names."""


class TypeExpressionError(ValueError):
    """A type expression that says nothing; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class DefinitionProblem:
    """What is wrong with a definition in the front matter. ``path`` leads to the place: ``("types", "Draft")``."""

    path: tuple[str | int, ...]
    message: str


def list_of(item: Type) -> Type:
    """The type of lists of ``item``."""
    return f"list[{item}]"


def item_of(type_: Type) -> Type | None:
    """The type of a list's items, or None for a type that is no list."""
    return type_[5:-1] if type_.startswith("list[") else None


def is_variable(type_: Type) -> bool:
    """Whether this is a type variable of an operator's signature: one capital letter."""
    return len(type_) == 1 and _VARIABLE.fullmatch(type_) is not None


@dataclass(frozen=True, eq=False)
class TypeTable:
    """All types of one workflow: the parent of each named one, and the words of each enumeration."""

    parents: Mapping[str, Type | None] = field(default_factory=lambda: dict(_BUILT_IN))
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _known: dict[tuple[Type, Type], int | None] = field(default_factory=dict, repr=False)

    def distance(self, given: Type, wanted: Type) -> int | None:
        """How many steps up the hierarchy lead from ``given`` to ``wanted``; None when the value does not fit."""
        if given == wanted:
            return 0
        pair = (given, wanted)
        if pair in self._known:
            return self._known[pair]
        steps = self._climb(given, wanted)
        if len(self._known) > 20_000:
            self._known.clear()
        self._known[pair] = steps
        return steps

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
                raise TypeExpressionError(f"`{text.strip()}` is no type: the bracket of `list[...]` is not closed.")
            inner = rest[1:-1].strip()
            depth += 1
            if depth > _DEEPEST_LIST:
                raise TypeExpressionError(f"A type nests at most {_DEEPEST_LIST} lists.")
        if not inner:
            raise TypeExpressionError("A type is missing: write one such as `Text`, `Code` or `list[Text]`.")
        if inner == "list":
            raise TypeExpressionError("`list` needs the type of its items: write `list[Text]`, for example.")
        if not _NAME.fullmatch(inner):
            raise TypeExpressionError(f"`{text.strip()}` is no type: write a name such as `Text`, or `list[Text]`.")
        if inner not in self.parents and not (variables and is_variable(inner)):
            near = closest(inner, self.parents)
            hint = f"did you mean `{near}`?" if near else f"{self._some()}."
            raise TypeExpressionError(f"There is no type `{inner}`; {hint}")
        return "list[" * depth + inner + "]" * depth

    def _some(self) -> str:
        """The types, or the first of them where there are many."""
        more = len(self.parents) - _MOST_LISTED
        named = ", ".join(islice(self.parents, _MOST_LISTED))
        return f"the types are {named}" if more <= 0 else f"some of the {len(self.parents)} types are {named}"

    def words_of(self, type_: Type) -> tuple[str, ...] | None:
        """The words of an enumeration (or of a type made from one), or None for other types."""
        for name in self._ancestors(type_):
            if name in self.words:
                return self.words[name]
        return None

    def _ancestors(self, type_: Type) -> list[Type]:
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
        chain = self._ancestors(given)
        return chain.index(wanted) if wanted in chain else None

    def _common_of_two(self, first: Type, second: Type) -> Type:
        first_item, second_item = item_of(first), item_of(second)
        if first_item is not None and second_item is not None:
            return list_of(self._common_of_two(first_item, second_item))
        if first_item is not None or second_item is not None:
            return ANY
        above = set(self._ancestors(first))
        return next((name for name in self._ancestors(second) if name in above), ANY)


BUILT_IN_TYPES = TypeTable()
"""The types of every workflow."""


def declare_types(declared: Mapping[str, Any]) -> tuple[TypeTable, list[DefinitionProblem]]:
    """Add a front matter's ``types:`` to the built-in ones.

    ``Draft: Text`` makes a kind of Text, ``Route: [math, code, other]`` an enumeration, itself a kind of Text whose
    values are those words. What is wrong is left out and told; a kind of a type that is left out counts as a kind
    of Text.
    """
    if not declared:
        return BUILT_IN_TYPES, []
    parents: dict[str, Type | None] = dict(_BUILT_IN)
    words: dict[str, tuple[str, ...]] = {}
    problems: list[DefinitionProblem] = []
    pending: dict[str, str] = {}
    for name, meaning in declared.items():
        message = _name_problem(name)
        if message is None and isinstance(meaning, str):
            pending[name] = meaning.strip()
        elif message is None and isinstance(meaning, (list, tuple)):
            message = _enumeration_problem(name, meaning)
            if message is None:
                words[name] = tuple(str(word).strip() for word in meaning)
                parents[name] = TEXT
        elif message is None:
            message = f"Type `{name}` needs the type it is a kind of (`{name}: Text`) or a list of words."
        if message is not None:
            problems.append(DefinitionProblem(("types", name), message))
    _add_kinds(pending, parents, problems)
    return TypeTable(parents, words), problems


def _name_problem(name: object) -> str | None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "list":
        return f"`{name}` can't name a type: use letters, digits and `_`, starting with a letter."
    if name in _BUILT_IN:
        return f"`{name}` is a built-in type and can't be declared again; choose another name."
    if is_variable(name):
        return f"`{name}` can't name a type: single capital letters are type variables of operators."
    return None


def _enumeration_problem(name: str, meaning: list[Any] | tuple[Any, ...]) -> str | None:
    if not meaning:
        return f"Enumeration `{name}` has no words; list at least one."
    seen: set[str] = set()
    for word in meaning:
        if isinstance(word, bool) or word is None or not isinstance(word, (str, int, float)):
            return f"The words of enumeration `{name}` must be text; put `{str(word).lower()}` in quotes."
        key = str(word).strip().casefold()
        if not key or key in seen:
            what = "an empty word" if not key else f"`{word}` twice (case doesn't count)"
            return f"Enumeration `{name}` has {what}; every word must be different."
        seen.add(key)
    return None


def _add_kinds(pending: dict[str, str], parents: dict[str, Type | None], problems: list[DefinitionProblem]) -> None:
    """Give each type of ``pending`` its parent; a kind may be declared before what it is a kind of."""
    guesses = Guesses()
    for name in pending:
        path: dict[str, None] = {}
        current = name
        while current in pending and current not in parents and current not in path:
            path[current] = None
            current = pending[current]
        if current in path:
            order = list(path)
            text = " -> ".join([*order[order.index(current) :], current])
            problems.append(DefinitionProblem(("types", name), f"Types can't be kinds of each other: {text}."))
            parents[current] = TEXT
        elif current not in parents:
            near = guesses.closest(current, chain(parents, pending))
            hint = f"did you mean `{near}`?" if near else "name a built-in type or one declared under `types:`."
            if item_of(current) is not None:
                hint = "a type is a kind of a named one, not of a list."
            last = next(reversed(path))
            message = f"Type `{last}` is declared as a kind of `{current}`, which is no type; {hint}"
            problems.append(DefinitionProblem(("types", last), message))
            parents[last] = TEXT
        for made in reversed(path):
            if made not in parents:
                parents[made] = pending[made]
