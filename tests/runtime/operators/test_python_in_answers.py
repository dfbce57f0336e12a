"""Python in answers: found, cleaned to what parses, and with the function it must define."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given as draw
from hypothesis import strategies as st

from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.python_code import read_code

LINES = st.sampled_from(
    ["import math", "def solve():", "    return 1", "x = 1", "Here is the code:", "```python", "```", "~~~", "  y = (2,",
     "print(x)", "'''", "class A:", "    pass", "", "It's done.", "\tz = 3", "@decorated", "\x00", "#"]
)  # fmt: skip


@draw(st.one_of(st.lists(LINES, max_size=12).map("\n".join), st.text()), st.sampled_from([None, "solve"]))
def test_code_always_parses_or_is_refused_with_a_remedy(answer: str, entry_point: str | None) -> None:
    try:
        code = read_code(answer, entry_point)
    except AnswerFailure as failure:
        code, remedy = None, failure.advice
    if code is None:
        assert remedy
        return
    assert entry_point is None or entry_point in ast.unparse(ast.parse(code))
    assert read_code(code, entry_point) == code


PROGRAM = "def solve():\n    return 1"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (PROGRAM, PROGRAM),
        (f"Here:\n```python\n{PROGRAM}\n```\nDone.", PROGRAM),
        (f"```py\nimport math\n```\nand\n```python\n{PROGRAM}\n```", f"import math\n\n{PROGRAM}"),
        (f"```bash\npip install x\n```\n```Python\n{PROGRAM}\n```", PROGRAM),
        (f"```\n{PROGRAM}\n```", PROGRAM),
        (f"1. First:\n   ```python\n   {PROGRAM.replace(chr(10), chr(10) + '   ')}\n   ```", PROGRAM),
        (f"```python\n{PROGRAM}", PROGRAM),
        (f"Sure, this is it.\n\n{PROGRAM}\n\nI hope this helps!", PROGRAM),
        (f"```python\n{PROGRAM}\nThis returns one.\n```", PROGRAM),
        (
            'def solve():\n    return """\n```python\nx\n```\n"""',
            'def solve():\n    return """\n```python\nx\n```\n"""',
        ),
        (f"```python\r\n{PROGRAM.replace(chr(10), chr(13) + chr(10))}\r\n```", PROGRAM),
    ],
)
def test_answers_as_models_write_them(answer: str, code: str) -> None:
    assert read_code(answer, "solve") == code


@pytest.mark.parametrize(
    "answer", ["", "I can't.", "42", "Sorry", "```\n```", "def solve(:\n pass", "```text\nno\n```"]
)
def test_what_is_no_program_is_refused(answer: str) -> None:
    with pytest.raises(AnswerFailure, match="no Python code"):
        read_code(answer)


def test_code_without_its_entry_point_is_refused_by_name() -> None:
    with pytest.raises(AnswerFailure, match="does not define `solve`") as caught:
        read_code("```python\ndef other():\n    return 1\n```", "solve")
    assert "`solve`" in caught.value.advice


@pytest.mark.parametrize(
    "code",
    [
        "solve = lambda: 1",
        "solve: object = print",
        "class solve: pass",
        "from math import sqrt as solve",
        "if True:\n    def solve(): ...",
        "try:\n    import fast as solve\nexcept ImportError:\n    import slow as solve",
        "if True:\n    import math\n    solve = math.sqrt",
    ],
)
def test_an_entry_point_is_whatever_gives_the_name_a_meaning(code: str) -> None:
    assert read_code(code, "solve") == code


@pytest.mark.parametrize(
    "code", ["solve: object", "print(solve)", "def other():\n    solve = 1", "solve.it = 1", "def f(solve): ..."]
)
def test_a_name_that_is_given_no_meaning_is_no_entry_point(code: str) -> None:
    with pytest.raises(AnswerFailure, match="does not define `solve`"):
        read_code(code, "solve")


def test_of_several_programs_the_one_that_parses_and_defines_the_name_is_taken() -> None:
    answer = f"```python\ndef solve(:\n```\nCorrected:\n```python\n{PROGRAM}\n```"
    assert read_code(answer, "solve") == PROGRAM


@pytest.mark.parametrize(
    "answer", ['x = "\\d"\n', "Here:\nx = 1 is 1\nprint('\\d')\nDone.", "```python\nassert (1, '\\w')\n```"]
)
def test_odd_code_is_read_without_a_warning_to_the_user(answer: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert read_code(answer)
    assert [str(one.message) for one in told] == []
