"""In the place of the compiled rpds-py: the persistent collections that jsonschema and referencing use, on plain ones.

Bundled with the extension, whose Python parts must run on any machine. Same results, other costs: an insertion copies, which
the few entries of a schema's registry make no matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")
_T = TypeVar("_T")


class HashTrieMap(Mapping[_K, _V]):
    """A mapping that never changes: what would change it gives another one."""

    __slots__ = ("_entries",)

    def __init__(self, value: Mapping[_K, _V] | Iterable[tuple[_K, _V]] = (), **more: Any) -> None:
        self._entries: dict[Any, Any] = {**dict(value), **more}

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap[Any, Any]:
        """``value`` itself where it is one, else one made of it."""
        return value if isinstance(value, cls) else cls(value)

    @classmethod
    def fromkeys(cls, keys: Iterable[Any], value: Any = None) -> HashTrieMap[Any, Any]:
        return cls(dict.fromkeys(keys, value))

    def __getitem__(self, key: _K) -> _V:
        found: _V = self._entries[key]
        return found

    def __iter__(self) -> Iterator[_K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"HashTrieMap({self._entries!r})"

    def insert(self, key: Any, value: Any) -> HashTrieMap[Any, Any]:
        return type(self)({**self._entries, key: value})

    def remove(self, key: Any) -> HashTrieMap[Any, Any]:
        """Without ``key``. Raises KeyError where it isn't there."""
        entries = dict(self._entries)
        del entries[key]
        return type(self)(entries)

    def discard(self, key: Any) -> HashTrieMap[Any, Any]:
        return self.remove(key) if key in self._entries else self

    def update(self, *others: Any, **more: Any) -> HashTrieMap[Any, Any]:
        entries = dict(self._entries)
        for other in others:
            entries.update(other)
        return type(self)({**entries, **more})


class HashTrieSet(frozenset[_T]):
    """A set that never changes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"HashTrieSet({{{', '.join(map(repr, self))}}})"

    def insert(self, value: Any) -> HashTrieSet[Any]:
        return type(self)([*self, value])

    def remove(self, value: Any) -> HashTrieSet[Any]:
        """Without ``value``. Raises KeyError where it isn't there."""
        if value not in self:
            raise KeyError(value)
        return self.discard(value)

    def discard(self, value: Any) -> HashTrieSet[Any]:
        return type(self)(one for one in self if one != value)

    def update(self, *others: Iterable[Any]) -> HashTrieSet[Any]:
        return type(self)([*self, *(one for other in others for one in other)])


class List(Generic[_T]):
    """A list that never changes; its front is where things come and go."""

    __slots__ = ("_entries",)

    def __init__(self, *values: Any) -> None:
        """Of one iterable, or of the values given."""
        self._entries: tuple[Any, ...] = tuple(values[0]) if len(values) == 1 else values

    def __iter__(self) -> Iterator[_T]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[_T]:
        return iter(self._entries[::-1])

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return self._entries == other._entries if isinstance(other, List) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._entries)

    def __repr__(self) -> str:
        return f"List([{', '.join(map(repr, self._entries))}])"

    @property
    def first(self) -> _T:
        """The value at the front. Raises IndexError where there is none."""
        if not self._entries:
            raise IndexError("empty list has no first element")
        found: _T = self._entries[0]
        return found

    @property
    def rest(self) -> List[_T]:
        return List(self._entries[1:])

    def push_front(self, value: Any) -> List[Any]:
        return List((value, *self._entries))

    def drop_first(self) -> List[_T]:
        """Without the value at the front. Raises IndexError where there is none."""
        if not self._entries:
            raise IndexError("empty list has no first element")
        return self.rest
