"""The fields of what a workflow returns, by the names that people call them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.called_files import output_type
from merrow_analysis.definitions.types import JSON, Type
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data.problems import listed
from merrow_optimizer.evaluation.endings import RETURN
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.formats.shapes import ValueShape, shape_of
from merrow_runtime.program.definitions import meanings_of


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A field: its name, its type, and the keys that lead to it from the answer as `ending_of` gives it."""

    name: str
    type: Type
    shape: ValueShape
    path: tuple[str, ...]

    def of(self, output: Any) -> Any:
        """Its value in an answer. Raises `KeyError` where the answer has none."""
        for key in self.path:
            if not isinstance(output, Mapping):
                raise KeyError(key)
            output = output[key]
        return output


class AnswerFields:
    """The fields of a workflow's answer: those of the record that RETURN has (or the only output), each output by its id, and
    ``OUTPUT.field``.
    """

    def __init__(self, graph: TypedGraph) -> None:
        self._types = graph.types
        outputs = {node.id: output_type(node, graph.types) for node in graph.outputs}
        self.several = len(outputs) > 1
        """Whether the paths of fields begin with the id of an output, see `all_outputs`."""
        self._outputs = {name: (type_, (name,) if self.several else ()) for name, type_ in outputs.items()}
        self._main = RETURN if RETURN in outputs else None if self.several else next(iter(outputs), None)
        self._fields: dict[str, tuple[Type, tuple[str, ...]]] = {}
        if self._main is not None:
            type_, path = self._outputs[self._main]
            of_record = graph.types.fields_of(type_) or {}
            self._fields = {name: (inner, (*path, name)) for name, inner in of_record.items()}

    @property
    def of_record(self) -> list[str]:
        """The names of the fields of the answer itself; empty where it is not a record."""
        return list(self._fields)

    def __iter__(self) -> Iterator[AnswerField]:
        """Those that a person chooses among: fields of the answer, then other outputs with their fields."""
        for name, (type_, path) in self._fields.items():
            yield self._made(name, type_, path)
        for name, (type_, path) in self._outputs.items():
            if name == self._main and self._fields:
                continue
            yield self._made(name, type_, path)
            for inner, inner_type in (self._types.fields_of(type_) or {}).items():
                yield self._made(f"{name}.{inner}", inner_type, (*path, inner))

    def named(self, name: str) -> AnswerField:
        """The field of this name, in any case of letters where that is clear. Raises `UsageFailure`."""
        found = self._find(name)
        if found is None:
            known = [field.name for field in self]
            near = closest(name, known)
            hint = f"did you mean `{near}`?" if near else f"its fields are {listed(known)}."
            raise UsageFailure(f"The workflow returns no field `{name}`; {hint}")
        return found

    def _find(self, name: str) -> AnswerField | None:
        head, *rest = name.split(".")
        known = self._fields if _key(head, self._fields) is not None else self._outputs
        start = _key(head, known)
        if start is None:
            return None
        names, (type_, path) = [start], known[start]
        for part in rest:
            fields = self._types.fields_of(type_)
            if fields is None and type_ == JSON:  # of which nobody knows the fields before it is there
                key, inner = part, JSON
            elif fields is None or (found := _key(part, fields)) is None:
                return None
            else:
                key, inner = found, fields[found]
            names.append(key)
            type_, path = inner, (*path, key)
        return self._made(".".join(names), type_, path)

    def _made(self, name: str, type_: Type, path: tuple[str, ...]) -> AnswerField:
        return AnswerField(name, type_, shape_of(type_, *meanings_of([type_], self._types)), path)


def _key(name: str, known: Iterable[str]) -> str | None:
    """The name that is meant, in any case of letters where only one is."""
    names = list(known)
    if name in names:
        return name
    alike = [each for each in names if each.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None
