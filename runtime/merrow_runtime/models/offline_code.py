"""The programs that the embedded offline model writes: they run, and claim nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from merrow_runtime.models.offline_sums import calculation, result

DEFAULT_FUNCTION = "solve"
_NAME = r"([A-Za-z_]\w*)"
_ENTRY_POINT = re.compile(rf"(?im)^#+ *(?:name of the |entry[ _]?point\b).*\n`{{3,}}\w*\n\s*{_NAME}\s*\n")
_ASKED_FOR = re.compile(
    rf"(?i)\b(?:defin\w*|functions?|named|called|implement\w*|entry[ _]?point)\W+(?:\w+\W+){{0,4}}?`{_NAME}"
)
_DEFINED = re.compile(rf"(?m)^[ \t]*def {_NAME}\(")


def wanted_function(texts: Sequence[str]) -> str:
    """The name of the function that a request asks for: given as the entry point, named in the instructions, begun in the
    problem; ``solve`` where none is.
    """
    for pattern, searched in ((_ENTRY_POINT, texts), (_ASKED_FOR, texts[:1]), (_DEFINED, texts)):
        for text in searched:
            names = pattern.findall(text)
            if names:
                return str(names[-1])
    return DEFAULT_FUNCTION


def program(function: str, problem: str) -> str:
    """A program that defines ``function``. ``solve`` gives the result of the first calculation in the problem (``12 * 3``);
    any other function takes whatever it is given and returns None.
    """
    if function != DEFAULT_FUNCTION:
        return f"def {function}(*args, **kwargs):\n    return None"
    expression = calculation(problem)
    if expression is None:
        return "def solve():\n    return 'There is no plain calculation in the problem.'"
    return f"def solve():\n    return {result(expression)}  # {expression}"
