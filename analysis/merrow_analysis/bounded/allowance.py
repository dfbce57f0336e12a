"""How much computing a text may ask for."""

from __future__ import annotations


class TooMuchError(Exception):
    """A text asks for more than it may; a sentence without its end says what is too much and what to do instead."""


class Allowance:
    """The steps that one computation may still take. A step is about what copying some characters costs: 20 million of them are
    less than a second or two, and the values that they make are less than 200 MB.
    """

    __slots__ = ("_left", "_why")

    def __init__(self, steps: int, why: str) -> None:
        """``why`` is what `TooMuchError` says once the steps are used up."""
        self._left = steps
        self._why = why

    def take(self, steps: int) -> None:
        """Use steps, before they are made. Raises `TooMuchError` where there are not so many."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchError(self._why)


def size_of(value: object, allowance: Allowance, *, letters: bool = True) -> int:
    """The size of a value as it would be written, about: characters, with eight more for each part. It is taken from the
    allowance while it is counted, so that values which share their parts can't grow without end. Without ``letters`` only
    parts count.
    """
    size = 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (str, bytes)):
            here = 8 + (len(part) if letters else 0)
        elif isinstance(part, dict):
            here = 8 * (len(part) + 1)
            waiting += part.keys()
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            here = 8 * (len(part) + 1)
            waiting += part
        else:
            here = part.bit_length() // 3 + 8 if isinstance(part, int) else 24
        size += here
        allowance.take(here)
    return size
