"""What records hold: none may hold itself, and none more than can be asked of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from merrow_analysis.definitions.types import JSON, DefinitionProblem, Type, TypeTable, innermost

DEEPEST = 8
"""Records and unions that one inside the other may hold."""
MOST_FIELDS = 1_000
"""Fields of a record, with those of the records and unions in it."""


def settle_records(
    records: dict[str, dict[str, Type]],
    unions: dict[str, tuple[Type, ...]],
    types: TypeTable,
    problems: list[DefinitionProblem],
) -> None:
    """Take out of ``records`` and ``unions`` what holds itself or too much, and tell of it. Takes linear time.

    A field by which a record would hold itself becomes Json, and so does a record or union that is too large.
    """
    measures: dict[str, tuple[int, int]] = {}
    for name in (*records, *unions):
        if name not in measures:
            _walk(name, records, unions, types, measures, problems)


def _walk(
    first: str,
    records: dict[str, dict[str, Type]],
    unions: dict[str, tuple[Type, ...]],
    types: TypeTable,
    measures: dict[str, tuple[int, int]],
    problems: list[DefinitionProblem],
) -> None:
    """Measure a record or union after all that it holds: depth and fields."""
    path: dict[str, Iterator[tuple[str | None, str]]] = {first: iter(_parts(first, records, unions, types))}
    while path:
        name = next(reversed(path))
        inner = next(path[name], None)
        if inner is None:
            del path[name]
            _measure(name, records, unions, types, measures, problems)
            continue
        field, held = inner
        if held in path:
            order = list(path)
            text = " -> ".join([*order[order.index(held) :], held])
            where = ("types", name) if field is None else ("types", name, field)
            what = f"Union `{name}`" if field is None else f"Field `{field}` of record `{name}`"
            problems.append(
                DefinitionProblem(
                    where, f"{what} makes `{held}` hold itself ({text}); records can't be recursive. Write Json there."
                )
            )
            if field is None:
                unions.pop(name, None)
            else:
                records[name][field] = JSON
        elif held not in measures:
            path[held] = iter(_parts(held, records, unions, types))


def _parts(
    name: str, records: Mapping[str, Mapping[str, Type]], unions: Mapping[str, tuple[Type, ...]], types: TypeTable
) -> list[tuple[str | None, str]]:
    """The records and unions that one holds, each with the field that holds it."""
    held: list[tuple[str | None, Type]] = [*records.get(name, {}).items()]
    held += [(None, kind) for kind in unions.get(name, ())]
    parts: list[tuple[str | None, str]] = []
    for field, type_ in held:
        inner = next(
            (ancestor for ancestor in types.ancestors(innermost(type_)) if ancestor in records or ancestor in unions),
            None,
        )
        if inner is not None:
            parts.append((field, inner))
    return parts


def _measure(
    name: str,
    records: dict[str, dict[str, Type]],
    unions: dict[str, tuple[Type, ...]],
    types: TypeTable,
    measures: dict[str, tuple[int, int]],
    problems: list[DefinitionProblem],
) -> None:
    parts = [measures.get(held, (0, 0)) for _, held in _parts(name, records, unions, types)]
    own = len(records.get(name, ())) + len(unions.get(name, ()))
    depth, fields = 1 + max((part[0] for part in parts), default=0), own + sum(part[1] for part in parts)
    what = "Record" if name in records else "Union"
    message = None
    if depth > DEEPEST:
        message = f"{what} `{name}` nests deeper than {DEEPEST} records; write Json for what is further in."
    elif fields > MOST_FIELDS:
        message = (
            f"{what} `{name}` has {fields:,} fields, with those of the records in it; there may be {MOST_FIELDS:,}. Write "
            "Json for a part of it."
        )
    if message is not None:
        problems.append(DefinitionProblem(("types", name), message))
        records.pop(name, None)
        unions.pop(name, None)
        depth, fields = 0, 0
    measures[name] = depth, fields
