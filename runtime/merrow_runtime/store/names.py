"""What runs are called in a journal, and numbers that rows of several processes have."""

from __future__ import annotations

import re
import secrets
import time

from merrow_runtime.errors import UsageFailure

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Of 5 bits each, without those that are mistaken for others."""

_LENGTH = 13
"""Letters for 64 bits."""

_NAME = re.compile(r"[^\W_][\w.:/@+=-]{0,199}")


def new_id() -> str:
    """An id of its own for a run: 64 random bits as 13 digits and small letters."""
    bits = secrets.randbits(64)
    return "".join(_LETTERS[bits >> 5 * place & 31] for place in range(_LENGTH))


def new_number() -> int:
    """A number for a row that no other has or had. A database could give its own twice: once a row is gone, or where it crashed.
    They grow with time, so that indexes grow at their ends.
    """
    return time.time_ns() // 1000 << 10 | secrets.randbits(10)


def check_name(name: str) -> None:
    """Raise `UsageFailure` where a run can't have this name."""
    if _NAME.fullmatch(name) is None:
        raise UsageFailure(
            f"A run can't be named {name!r}: begin with a letter or a digit, then write up to 199 letters, digits and"
            " characters of . _ - : / @ + ="
        )
