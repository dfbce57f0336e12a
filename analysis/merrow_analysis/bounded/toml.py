"""TOML that somebody wrote, read in linear time."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_PART = r"""(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+"""
# The standard library's reader takes quadratic time for these.
_LONG_KEY = re.compile(rf"""(?<![\w"'-])(?:{_PART}\.[ \t]*+){{100}}""")


def read_toml(text: str) -> dict[str, Any]:
    """What a text says. Raises `tomllib.TOMLDecodeError` for what is not TOML, and else ``ValueError`` with the end of a sentence
    that says why it can't be read.
    """
    if _LONG_KEY.search(text) is not None:
        raise ValueError("a key has more than 100 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, ValueError):
        raise ValueError("it nests or counts too far") from None
