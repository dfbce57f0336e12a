"""Values of pure functions that equal questions share: as long as anybody has them, or as long as they are recent."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

_MOST_RECENT = 500
"""Values that stay although nobody has them: what is typed and taken back, or tried again and again."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedValues(Generic[K, V]):
    """Values by what they were made of. What is remembered of a document goes with it, whatever its size.

    So a memory is neither too small for a large document nor full of what was typed hours ago.
    """

    def __init__(self) -> None:
        self._values: WeakValueDictionary[K, V] = WeakValueDictionary()
        self._recent: deque[V] = deque(maxlen=_MOST_RECENT)
        self.get = self._values.get
        """The value that somebody has for a key, or None."""

    def keep(self, key: K, value: V) -> V:
        """Share a value from now on."""
        self._values[key] = value
        self._recent.append(value)
        return value


class RecentValues(Generic[K, V]):
    """Values by what they were made of, at least the ``most`` newest ones and never more than twice as many.

    For those that cost little to make again, and of which no large document needs all at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value for a key, or None."""
        known = self._new.get(key)
        return self._old.get(key) if known is None else known

    def keep(self, key: K, value: V) -> V:
        """Share a value for a while."""
        self._new[key] = value
        if len(self._new) >= self._most:
            self._old, self._new = self._new, {}
        return value

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def clear(self) -> None:
        """Forget all of them."""
        self._new, self._old = {}, {}
