"""Reads the vectors in an endpoint's answer. Whatever a server sends, what comes out are as many vectors as texts, of one length,
of numbers.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from array import array
from collections.abc import Mapping, Sequence
from operator import mul

from merrow_runtime.requests import Vector

LONGEST_VECTOR = 16_384
"""Numbers of a vector."""
_FLOAT_BYTES = 4


class UnusableVectorsError(Exception):
    """What an endpoint sent are no vectors; ``str()`` of it goes on from the endpoint's name."""


def vectors_of(data: object, count: int) -> tuple[Vector, ...]:
    """The vectors of ``count`` texts, in the order of the texts, from the ``data`` of an answer.

    Raises `UnusableVectorsError`.
    """
    if not isinstance(data, list):
        raise UnusableVectorsError("answered with JSON that holds no vectors; check that its model embeds texts")
    if len(data) != count:
        raise UnusableVectorsError(f"gave {len(data):,} vectors for {count:,} texts; use another model or server")
    vectors = tuple(_vector(entry) for entry in _in_order(data))
    lengths = sorted({len(vector) // _FLOAT_BYTES for vector in vectors})
    if len(lengths) > 1:
        raise UnusableVectorsError(
            f"gave vectors of {lengths[0]:,} and of {lengths[-1]:,} numbers in one answer; use another model or server"
        )
    return vectors


def _in_order(data: Sequence[object]) -> list[object]:
    """What an answer has for each text. Its entries may say which they are."""
    entries = [entry if isinstance(entry, Mapping) else {"embedding": entry} for entry in data]
    places = [entry.get("index") for entry in entries]
    if all(place is None for place in places):
        return [entry.get("embedding") for entry in entries]
    by_place = {place: entry for place, entry in zip(places, entries, strict=True) if type(place) is int}
    if by_place.keys() != set(range(len(entries))):
        raise UnusableVectorsError("does not say which vector is of which text; use another model or server")
    return [by_place[place].get("embedding") for place in range(len(entries))]


def _vector(given: object) -> Vector:
    numbers = _numbers(given)
    if not numbers:
        raise UnusableVectorsError("gave an empty vector; use another model or server")
    if len(numbers) > LONGEST_VECTOR:
        raise UnusableVectorsError(
            f"gave a vector of {len(numbers):,} numbers, and at most {LONGEST_VECTOR:,} are used; use another model"
        )
    return of_length_one(numbers)


def _numbers(given: object) -> Sequence[float]:
    if isinstance(given, str):
        return _unpacked(given)
    if not isinstance(given, list):
        raise UnusableVectorsError("gave something that is not a vector; use another model or server")
    if len(given) == 1 and isinstance(given[0], list):
        return _numbers_in(given[0])  # some servers frame the vector of a whole text once more
    return _numbers_in(given)


def _numbers_in(given: Sequence[object]) -> list[float]:
    numbers: list[float] = []
    for number in given:
        # A whole number may have more digits than a float can have.
        if isinstance(number, bool) or not isinstance(number, int | float) or not -3.4e38 <= number <= 3.4e38:
            raise UnusableVectorsError(
                "gave a vector with something in it that is not a number; use another model or server"
            )
        numbers.append(float(number))
    return numbers


def _unpacked(given: str) -> Sequence[float]:
    """The numbers of a vector in base64: 32-bit floats, the lowest byte first."""
    try:
        packed = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        packed = b"?"
    if len(packed) % _FLOAT_BYTES:
        raise UnusableVectorsError("gave a text in the place of a vector; use another model or server")
    return _numbers_in(struct.unpack(f"<{len(packed) // _FLOAT_BYTES}f", packed))


def of_length_one(numbers: Sequence[float]) -> Vector:
    """A vector of these numbers, each between -3.4e38 and 3.4e38."""
    length = math.sqrt(math.fsum(map(mul, numbers, numbers)))
    if length == 0:
        return array("f", bytes(_FLOAT_BYTES * len(numbers))).tobytes()
    return array("f", [number / length for number in numbers]).tobytes()
