"""Items as the inputs of one workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data.data_set import DataSet
from merrow_optimizer.evaluation.data.formats import kind_of
from merrow_optimizer.evaluation.data.kept_items import LAST, ItemsById
from merrow_optimizer.evaluation.data.problems import DataError, DataProblem, listed
from merrow_optimizer.evaluation.items import Item
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.formats.shapes import shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.program.inputs import MissingInputs, read_inputs, type_of_input


class FittedInputs(Mapping[str, Mapping[str, Any]]):
    """What the workflow is given for each item, by its id, in their order: a value of the right type for each of its inputs, by
    id. ``sources`` are the fields that feed them.
    """

    def __init__(self, items: Sequence[Item], graph: TypedGraph, sources: Mapping[str, str]) -> None:
        self._items = ItemsById(items)
        self._fitted = lru_cache(LAST)(partial(_fitted, self._items, graph, sources))

    def __getitem__(self, own: str) -> Mapping[str, Any]:
        return self._fitted(own)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items.ids)

    def __len__(self) -> int:
        return len(self._items.ids)

    def __contains__(self, own: object) -> bool:
        return own in self._items


def _fitted(items: ItemsById, graph: TypedGraph, sources: Mapping[str, str], own: str) -> Mapping[str, Any]:
    return dict(read_inputs(graph, _values(items[own], sources)))


def _values(item: Item, sources: Mapping[str, str]) -> dict[str, Any]:
    return {node: item.inputs[name] for node, name in sources.items() if item.inputs.get(name) is not None}


def fitted(data: DataSet, graph: TypedGraph) -> FittedInputs:
    """What the workflow is given for each item. An input is fed by the field (or the mapping) of its name, in any case, else by
    its default.

    Raises:
        DataError: inputs that no field feeds, and values that an input's type doesn't take, all of them.
    """
    problems: list[DataProblem] = []
    fields = {name: None for item in data.items for name in item.inputs}
    folded = {name.casefold(): name for name in reversed(fields)}
    sources: dict[str, str] = {}
    of_text: set[str] = set()
    for node in graph.inputs:
        source = node.id if node.id in fields else folded.get(node.id.casefold())
        default = node.resolution.parameters.get("default")
        if source is not None:
            sources[node.id] = source
            type_ = type_of_input(node)
            if shape_of(type_, *meanings_of([type_], graph.types)).kind in ("text", "code"):
                of_text.add(node.id)
        elif default is None or default.value is None:
            near = closest(node.id, fields)
            hint = f"for example --map {node.id.lower()}={near or next(iter(fields), 'FIELD')}"
            problems.append(
                DataProblem(
                    f"No field feeds the input {node.id}; map one, {hint}. The fields are {listed(list(fields))}.",
                    data.file,
                )
            )
    if problems:
        raise DataError(problems)
    for item in data.items:
        values = _values(item, sources)
        nested = [node for node, value in values.items() if node in of_text and isinstance(value, list | dict)]
        problems += [
            _problem(item, data, sources[node], f"The value is {kind_of(values[node])}; the input {node} takes a text.")
            for node in nested
        ]
        if nested:
            continue
        try:
            read_inputs(graph, values)
        except MissingInputs as missing:
            for each in missing.missing:
                fed = sources[each.id]
                what = "is null" if fed in item.inputs else "is missing"
                problems.append(_problem(item, data, fed, f"The value {what}; the input {each.id} needs one."))
        except UsageFailure as failure:
            name = next((name for node, name in sources.items() if f"input {node} " in str(failure)), None)
            problems.append(_problem(item, data, name, str(failure)))
    if problems:
        raise DataError(sorted(problems, key=lambda problem: problem.line or 0))
    return FittedInputs(data.items, graph, sources)


def _problem(item: Item, data: DataSet, field: str | None, sentence: str) -> DataProblem:
    place = item.place
    return DataProblem(sentence, place.file if place else data.file, place.line if place else None, field)
