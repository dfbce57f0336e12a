"""Whether types of two workflows are the same."""

from __future__ import annotations

from merrow_analysis.definitions.types import BUILT_IN, Type, TypeTable, innermost


def same_type(first: Type, here: TypeTable, second: Type, there: TypeTable) -> bool:
    """Whether a type of one workflow is the same as one of another: its name, what it is a kind of, its words, and all that its
    values hold.
    """
    if first != second:
        return False
    inner = innermost(first)
    return inner in BUILT_IN or _meaning(inner, here) == _meaning(inner, there)


def _meaning(type_: Type, table: TypeTable) -> dict[Type, tuple[object, ...]]:
    """What a type and those in its values mean, by name."""
    meanings: dict[Type, tuple[object, ...]] = {}
    waiting = [type_]
    while waiting:
        name = waiting.pop()
        if name in meanings or name in BUILT_IN:
            continue
        fields, union = table.records.get(name), table.unions.get(name)
        meanings[name] = (table.parents.get(name), table.words.get(name), fields, union)
        waiting += [*kinds(name, table), *map(innermost, (fields or {}).values()), *(union or ())]
    return meanings


def kinds(type_: Type, table: TypeTable) -> list[Type]:
    """The type and all that it is a kind of."""
    chain: list[Type] = []
    current: Type | None = type_
    while current is not None and current not in chain:
        chain.append(current)
        current = table.parents.get(current)
    return chain
