"""The types that a front matter declares: kinds, enumerations, records and unions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from merrow_analysis.definitions.containment import settle_records
from merrow_analysis.definitions.types import (
    ANY,
    BUILT_IN,
    BUILT_IN_TYPES,
    JSON,
    TEXT,
    TYPE_NAME,
    DefinitionProblem,
    Misspelled,
    Type,
    TypeExpressionError,
    TypeTable,
    is_variable,
    item_of,
)
from merrow_analysis.suggest import Guesses

_ELSE = "else"
"""The case that takes what no other case takes."""


def declare_types(declared: Mapping[str, Any]) -> tuple[TypeTable, list[DefinitionProblem]]:
    """Add a front matter's ``types:`` to the built-in ones.

    - ``Draft: Text`` makes a kind of Text.
    - ``Route: [math, code, other]`` is an enumeration, itself a kind of Text whose values are those words.
    - ``Task: {title: Text, size: Number}`` is a record, a kind of Json with these fields.
    - ``Step: Query | Answer`` is a union, a kind of Json: a value of one of these kinds that says which.

    What is wrong is left out and told. A kind of a type that is left out counts as a kind of Text, and so does a field whose
    type means nothing.
    """
    if not declared:
        return BUILT_IN_TYPES, []
    parents: dict[str, Type | None] = dict(BUILT_IN)
    words: dict[str, tuple[str, ...]] = {}
    problems: list[DefinitionProblem] = []
    pending: dict[str, str] = {}
    unions: dict[str, str] = {}
    records: dict[str, Mapping[Any, Any]] = {}
    for name, meaning in declared.items():
        message = _name_problem(name)
        if message is None and isinstance(meaning, str):
            if "|" in meaning:
                unions[name], parents[name] = meaning, JSON
            else:
                pending[name] = meaning.strip()
        elif message is None and isinstance(meaning, Mapping):
            records[name], parents[name] = meaning, JSON
        elif message is None and isinstance(meaning, (list, tuple)):
            message = _enumeration_problem(name, meaning)
            if message is None:
                words[name] = tuple(str(word).strip() for word in meaning)
                parents[name] = TEXT
        elif message is None:
            message = (
                f"Type `{name}` needs the type it is a kind of (`{name}: Text`), a list of words, or fields with types "
                f"(`{name}: {{title: Text}}`)."
            )
        if message is not None:
            problems.append(DefinitionProblem(("types", name), message))
    _add_kinds(pending, parents, problems)
    named = TypeTable(parents, words)
    kinds: dict[str, tuple[Type, ...]] = {}
    for name, text in unions.items():
        members = _kinds(name, text, named, unions, problems)
        if members is not None:
            kinds[name] = members
    fields: dict[str, dict[str, Type]] = {}
    for name, body in records.items():
        held = _fields(name, body, named, problems)
        if held is not None:
            fields[name] = held
    settle_records(fields, kinds, named, problems)
    broken = frozenset(name for name in (*unions, *records) if name not in kinds and name not in fields)
    return TypeTable(parents, words, fields, kinds, broken), problems


def _name_problem(name: object) -> str | None:
    if not isinstance(name, str) or not TYPE_NAME.fullmatch(name) or name == "list":
        return f"`{name}` can't name a type: use letters, digits and `_`, starting with a letter."
    if name in BUILT_IN:
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
            message = f"Type `{last}` is declared as a kind of `{current}`, which is not a type; {hint}"
            misspelled = None if item_of(current) is not None else Misspelled(current, near)
            problems.append(DefinitionProblem(("types", last), message, misspelled))
            parents[last] = TEXT
        for made in reversed(path):
            if made not in parents:
                parents[made] = pending[made]


def _fields(
    name: str, body: Mapping[Any, Any], types: TypeTable, problems: list[DefinitionProblem]
) -> dict[str, Type] | None:
    """The fields of a record; None where it has none."""
    if not body:
        problems.append(
            DefinitionProblem(("types", name), f"Record `{name}` has no fields; write one, such as `{{title: Text}}`.")
        )
        return None
    fields: dict[str, Type] = {}
    folded: set[str] = set()
    for field, text in body.items():
        message, misspelled = None, None
        if not isinstance(field, str) or not TYPE_NAME.fullmatch(field):
            shown = str(field).lower() if isinstance(field, bool) or field is None else field
            message = f"`{shown}` can't name a field of record `{name}`: use letters, digits and `_`."
        elif field.casefold() in folded:
            message = f"Record `{name}` has field `{field}` twice (case doesn't count); every field must be different."
        elif not isinstance(text, str):
            message = (
                f"Field `{field}` of record `{name}` needs a type by name, such as `Text` or `'list[Text]'`; an "
                "enumeration or a record is declared under `types:` and named here."
            )
        else:
            try:
                fields[field] = types.parse(text)
            except TypeExpressionError as error:
                message, misspelled = f"Field `{field}` of record `{name}`: {error}", error.misspelled
        if message is not None:
            problems.append(DefinitionProblem(("types", name, field), message, misspelled))
        if isinstance(field, str) and TYPE_NAME.fullmatch(field) and field.casefold() not in folded:
            folded.add(field.casefold())
            fields.setdefault(field, TEXT)
    return fields or None


def _kinds(
    name: str, text: str, types: TypeTable, unions: Mapping[str, str], problems: list[DefinitionProblem]
) -> tuple[Type, ...] | None:
    """The kinds of a union; None where they can't be kept apart."""
    kinds: dict[str, Type] = {}
    message, misspelled = None, None
    for part in text.split("|"):
        try:
            kind = types.parse(part)
        except TypeExpressionError as error:
            message, misspelled = f"Union `{name}`: {error}", error.misspelled
            break
        if item_of(kind) is not None:
            message = (
                f"Union `{name}` names `{kind}`, but a case is called by one name; declare a record that has the list."
            )
        elif any(above in unions for above in types.ancestors(kind)):
            message = f"Union `{name}` names `{kind}`, which is a union itself; name the kinds of `{kind}`."
        elif kind.casefold() == _ELSE:
            message = f"Union `{name}` names `{kind}`, but the case `{_ELSE}` takes what no other case takes; rename the type."
        elif kind.casefold() in kinds:
            message = f"Union `{name}` names `{kind}` twice (case doesn't count); every kind must be different."
        if message is not None:
            break
        kinds[kind.casefold()] = kind
    if message is None and len(kinds) < 2:
        message = f"Union `{name}` needs at least two kinds: `{name}: Query | Answer`."
    known = set(kinds.values())
    for kind in kinds.values() if message is None else ():
        above = (
            ANY
            if kind == ANY
            else next((ancestor for ancestor in types.ancestors(kind)[1:] if ancestor in known), None)
        )
        if above is not None:
            other = next(alternative for alternative in kinds.values() if alternative != ANY) if kind == ANY else kind
            message = (
                f"The kinds of union `{name}` can't be told apart: every {other} is a kind of {above}, so that a value could "
                "be both. Name kinds of which none is a kind of another."
            )
            break
    if message is not None:
        problems.append(DefinitionProblem(("types", name), message, misspelled))
        return None
    return tuple(kinds.values())
