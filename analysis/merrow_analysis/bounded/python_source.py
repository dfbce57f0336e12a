"""Python that somebody wrote, as a syntax tree; nothing of it is run."""

from __future__ import annotations

import ast
import re
import warnings
from itertools import islice

LONGEST = 1 << 20
"""Characters of a text."""
MOST_TOKENS = 300_000
"""Words and signs of a text: each takes about a kilobyte of memory while it is parsed."""

_TOKEN = re.compile(r"\w+|[^\w ]")
_TOO_LARGE = f"it is too large; Python of at most {MOST_TOKENS:,} words and signs is read"


def parse_python(text: str, longest: int = LONGEST) -> ast.Module:
    """The syntax tree of a text of at most ``longest`` characters. Raises ``SyntaxError`` for what is not Python, nests too deep
    or is too large: then ``lineno`` may be None.
    """
    if len(text) > longest or (len(text) > MOST_TOKENS and _has_too_many_tokens(text)):
        raise SyntaxError(_TOO_LARGE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (RecursionError, MemoryError):
        raise SyntaxError("it nests too deep") from None
    except (ValueError, OverflowError) as problem:
        raise SyntaxError(str(problem)) from None


def _has_too_many_tokens(text: str) -> bool:
    return next(islice(_TOKEN.finditer(text), MOST_TOKENS, None), None) is not None


def literal(text: str) -> object:
    """The value that a text is, as ``ast.literal_eval`` reads it. Raises ``SyntaxError``, and ``ValueError`` for what is no
    literal.
    """
    body = parse_python(text.lstrip(" \t")).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise SyntaxError("it is not one value")
    try:
        return ast.literal_eval(body[0].value)
    except (TypeError, RecursionError, MemoryError) as problem:
        raise ValueError(str(problem)) from None
