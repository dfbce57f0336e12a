"""Exceptions of a solution that can't be made again with the arguments they show."""

from __future__ import annotations

import pytest
from tests.runtime.sandbox.test_solutions import judge

SOLUTION = """
class Odd({base}):
    pass
def f():
    odd = Odd('ascii', {text}, 0, 1, 'the reason')
    odd.args = ()
    raise odd
"""
CAUGHT = """
try:
    f()
except RuntimeError as error:
    assert 'the reason' in str(error), str(error)
else:
    assert False
"""


@pytest.mark.usefixtures("default_means")
@pytest.mark.parametrize(("base", "text"), [("UnicodeDecodeError", "b'x'"), ("UnicodeEncodeError", "'x'")])
def test_an_exception_that_cannot_be_made_again_keeps_its_words(base: str, text: str) -> None:
    result = judge(SOLUTION.format(base=base, text=text), CAUGHT)
    assert result.passed, result.failures
