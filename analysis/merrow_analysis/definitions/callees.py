"""The file that a Call runs, as far as its caller must know it: its ports, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from merrow_analysis.definitions.operators import CALL, InputPort, OperatorSpec, OutputPort
from merrow_analysis.definitions.types import BUILT_IN_TYPES, Type, TypeTable, innermost, item_of, list_of
from merrow_analysis.diagnostics import Related
from merrow_analysis.text import Range


@dataclass(frozen=True, slots=True)
class Callee:
    """A called file. ``path`` leads to it from the caller's folder.

    ``inputs`` and ``outputs`` are None where they can't be told. Their types are those of the called file; ``types`` has each
    of them that is not built in, with what it is (`meaning_of`). ``problem`` is a sentence, ``related`` the place in the called
    file that it speaks of. ``places`` are where its inputs and outputs are declared, by name. ``calls`` is how many calls it
    makes at least and at most, None where nothing bounds it but the Calls' `depth`. ``acts`` says that it, or a file that it
    calls, asks people or has another effect beyond a model's answers.
    """

    path: str
    inputs: tuple[InputPort, ...] | None = None
    outputs: tuple[OutputPort, ...] | None = None
    types: Mapping[Type, tuple[object, ...]] = field(default_factory=dict)
    title: str | None = None
    problem: str | None = None
    related: Related | None = None
    places: Mapping[str, Range] = field(default_factory=dict)
    calls: tuple[int, int | None] = (0, None)
    acts: bool = False

    def spec(self, types: TypeTable) -> OperatorSpec:
        """The Call's signature where a caller has these types.

        A type that the caller doesn't know, or knows as something else, is at an output the nearest kind that both know. At an
        input it has a name that no value of the caller fits.
        """
        if self.inputs is None or self.outputs is None:
            return CALL
        return replace(
            CALL,
            inputs=tuple(replace(port, type=self._wanted(port.type, types)) for port in self.inputs),
            outputs=tuple(OutputPort(port.name, self._given(port.type, types)) for port in self.outputs),
            bulk=self.inputs[0].name if self.inputs else None,
        )

    def _given(self, type_: Type, types: TypeTable) -> Type:
        item = item_of(type_)
        if item is not None:
            return list_of(self._given(item, types))
        return type_ if self._means_the_same(type_, types) else self._given(str(self.types[type_][0]), types)

    def _wanted(self, type_: Type, types: TypeTable) -> Type:
        item = item_of(type_)
        if item is not None:
            return list_of(self._wanted(item, types))
        return type_ if self._means_the_same(type_, types) else f"{type_} of {self.path}"

    def _means_the_same(self, type_: Type, types: TypeTable) -> bool:
        seen: dict[Type, None] = {type_: None}
        waiting = [type_]
        for name in waiting:  # It grows meanwhile.
            if name in self.types:
                if meaning_of(name, types) != self.types[name]:
                    return False
                parts = [part for part in map(innermost, _parts(name, types)) if part not in seen]
                seen |= dict.fromkeys(parts)
                waiting += parts
        return True


def meaning_of(type_: Type, types: TypeTable) -> tuple[object, ...]:
    """What a declared type is: the one that it is a kind of, the words of an enumeration, the fields of a record, the kinds of a
    union; empty for an unknown one.
    """
    if type_ not in types.parents:
        return ()
    record, union = types.records.get(type_, {}), types.unions.get(type_, ())
    return types.parents[type_], types.words.get(type_, ()), tuple(record.items()), union


def declared_types(named: list[Type], types: TypeTable) -> dict[Type, tuple[object, ...]]:
    """The types among ``named`` that are not built in, and those that they are made of, each with what it is."""
    meanings: dict[Type, tuple[object, ...]] = {}
    waiting = [innermost(name) for name in named]
    for name in waiting:  # It grows meanwhile.
        if name not in BUILT_IN_TYPES.parents and name not in meanings:
            meanings[name] = meaning_of(name, types)
            waiting += [innermost(part) for part in _parts(name, types)]
    return meanings


def _parts(type_: Type, types: TypeTable) -> list[Type]:
    """The types that a declared one is made of, the one that it is a kind of first."""
    parent = types.parents.get(type_)
    above = [] if parent is None else [parent]
    return [*above, *types.records.get(type_, {}).values(), *types.unions.get(type_, ())]
