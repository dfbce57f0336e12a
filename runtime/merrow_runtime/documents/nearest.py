"""Finds the vectors that are nearest to another one: by numpy where it is installed, else by Python, with the same result."""

from __future__ import annotations

import heapq
import importlib.util
import math
from dataclasses import dataclass
from operator import mul
from typing import Any

from merrow_runtime.requests import Vector

_LARGE = 5_000_000
"""Numbers of a table."""
_UNSURE = 1e-4
"""How far the quick sum of a product is from the exact one at most, and more than that."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """``count`` vectors of ``length`` numbers, packed one behind the other."""

    count: int
    length: int
    packed: bytes

    def nearest(self, query: Vector, wanted: int) -> list[tuple[int, float]]:
        """The places of the ``wanted`` vectors with the smallest angle to that of the query, each with its cosine, the nearest
        first; equal ones in their order.
        """
        if not self.count:
            return []
        # To import numpy takes as long as a search among this many.
        is_large = self.count * self.length >= _LARGE
        cosines = self._by_numpy(query) if is_large and _has_numpy() else self._by_python(query)
        least = heapq.nlargest(wanted, cosines)[-1] - _UNSURE
        asked = memoryview(query).cast("f").tolist()
        table = memoryview(self.packed).cast("f")
        exact = []
        for place, cosine in enumerate(cosines):
            if cosine >= least:
                vector = table[place * self.length : (place + 1) * self.length]
                # Exact sums, which are the same on every machine: only so are equal ones equal.
                exact.append((-math.fsum(map(mul, asked, vector)), place))
        return [(place, -cosine) for cosine, place in heapq.nsmallest(wanted, exact)]

    def _by_python(self, query: Vector) -> list[float]:
        asked, table, length = memoryview(query).cast("f").tolist(), memoryview(self.packed).cast("f"), self.length
        return [sum(map(mul, asked, table[start : start + length])) for start in range(0, self.count * length, length)]

    def _by_numpy(self, query: Vector) -> list[float]:
        numpy: Any = importlib.import_module("numpy")
        table = numpy.frombuffer(self.packed, numpy.float32).reshape(-1, self.length)
        cosines: list[float] = (table @ numpy.frombuffer(query, numpy.float32)).tolist()
        return cosines


def _has_numpy() -> bool:
    return importlib.util.find_spec("numpy") is not None
