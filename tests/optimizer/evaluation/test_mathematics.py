r"""The metric math: which answers are equal, and which only look so."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from tests.optimizer.evaluation.scoring import INVALID, differing, item, scores, values

from merrow_optimizer.evaluation.data import DataError
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.metrics.boxes import last_box
from merrow_optimizer.evaluation.scores import InvalidItemError

Row = tuple[str, str, float, str]

EQUAL: list[Row] = [
    (gold, answer, 1.0, "equal")
    for gold, answer in [
        (r"\frac{1}{2}", "0.5"),
        (r"\frac12", "1/2"),
        (r"\frac{14}{3}", r"4\frac{2}{3}"),
        (r"-\frac{3}{4}", "-0.75"),
        (r"\frac{-3}{4}", r"-\frac{3}{4}"),
        (r"\frac{1}{3}", "0.333333333"),
        (r"50\%", "0.5"),
        (r"50\%", "50"),
        ("1{,}000", "1000"),
        (r"11,\!111", "11,111"),
        ("10^7", "10000000"),
        (r"\$18.90", "18.9"),
        (r"5\text{ cm}", "5"),
        ("90^{\\circ}", "90 degrees"),
        (r"\frac{\sqrt{2}}{2}", r"\sin 45^\circ"),
        (r"\tan 60^\circ", r"\sqrt{3}"),
        (r"0.\overline{3}", r"\frac{1}{3}"),
        (r"-1.2\overline{45}", r"-\frac{137}{110}"),
        (r"x \ge 3", r"3 \le x"),
        (",".join(map(str, range(21))), ",".join(map(str, range(20))) + r"\text{ and }20"),
        (r"12\text{ dollars}", r"\$12"),
        (r"\sqrt{8}", r"2\sqrt2"),
        (r"\sqrt{2}", "1.41421356"),
        (r"\log_2 8", "3"),
        (r"\binom{5}{2}", "10"),
        ("5!", "120"),
        (r"e^{i\pi}", "-1"),
        ("6 - 5i", "-5i + 6"),
        (r"\pi", "3.14159265"),
        ("x=5", "5"),
        ("5", "x = 5"),
        ("y = 2x+1", "1 + 2x"),
        (r"x \in [1,2]", "[1,2]"),
        ("2x+3y=5", "4x+6y=10"),
        (r"\text{Evelyn}", "Evelyn"),
        (r"\text{(B)}", "B"),
        ("2516_8", "2516_{8}"),
        ("1,2,3", "3, 2, 1"),
        (r"1\text{ and }2", "1,2"),
        (r"\{1,2\}", "2,1"),
        (r"3\pm\sqrt2", r"3+\sqrt2,3-\sqrt2"),
        (r"(3,\frac{\pi}{2})", r"\left(3, \pi/2\right)"),
        (r"(-\infty,3]\cup[4,5)", r"[4,5)\cup(-\infty,3]"),
        ("x^2+2x+1", "(x+1)^2"),
        (r"\sin^2 x+\cos^2 x", "1"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        ("{5}", "5"),
    ]
]
DIFFERENT: list[Row] = [
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}", 0.0, "math-verify takes them for equal: they round to the same"),
    (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}", 0.0, "math-verify takes them for equal: they round to the same"),
    ("(1,2)", r"\{1,2\}", 0.0, "math-verify takes a pair for a set"),
    ("(1,2)", "1,2", 0.0, "a pair is not a list"),
    ("(1,2)", "(2,1)", 0.0, "order counts"),
    ("[1,2]", "(1,2)", 0.0, "a closed interval is not an open one"),
    ("1,2,3", "3,2,1,1", 0.0, "another number of values"),
    ("1,1,2", "1,2,2", 0.0, "each value counts once"),
    (",".join(map(str, range(21))), ",".join(map(str, reversed(range(21)))), 0.0, "more than 20 values have an order"),
    ("10000001", "10000000", 0.0, "whole numbers are equal exactly"),
    (r"\frac{1}{3}", "0.33", 0.0, "two digits are not six"),
    (r"\sqrt{2}", "1.41", 0.0, "two digits are not six"),
    (r"\sqrt{3}+1", r"\sqrt{3}", 0.0, "irrational, and not equal"),
    ("x+y=1", "1", 0.0, "an equation is not a number"),
    ("2x+3y=5", "4x+6y=11", 0.0, "another line"),
    ("x^2", "y^2", 0.0, "another variable"),
    ("x<2", "x>2", 0.0, "another side"),
    ("2516_8", "2516_7", 0.0, "math-verify drops the base"),
    ("2516_8", "2516", 0.0, "a number in base 8 is not one in base 10"),
    ("10:30", "20:60", 0.0, "a time is not a fraction"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}2\\1\end{pmatrix}", 0.0, "another vector"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,2)", 0.0, "a vector is not a pair"),
    (r"\infty", "5", 0.0, "infinity is not a number"),
    ("i", "1", 0.0, "the imaginary unit is not 1"),
    (r"\text{Evelyn}", "Briana", 0.0, "other words"),
    ("5", "five", 0.0, "words are not read as numbers"),
    ("0", "", 0.0, "an empty box is no answer"),
    (r"\frac{1}{2}", r"\frac{1}{2", 0.0, "an incomplete box is none"),
]


@pytest.mark.slow
def test_equal_and_different_answers() -> None:
    table = [
        (f"\\boxed{{{gold}}}", f"So it is $\\boxed{{{answer}}}$.", value, why)
        for gold, answer, value, why in EQUAL + DIFFERENT
    ]
    assert differing("math", table) == []


@pytest.mark.slow
def test_equality_has_no_direction() -> None:
    table = [
        (f"\\boxed{{{answer}}}", f"\\boxed{{{gold}}}", value, why)
        for gold, answer, value, why in EQUAL + DIFFERENT
        if answer
    ]
    broken = [row for row in table if row[0].count("{") != row[0].count("}")]
    assert differing("math", [row for row in table if row not in broken]) == []


WITHOUT_A_BOX: list[Row] = [
    (r"\boxed{42}", "42", 1.0, "nothing but the answer"),
    (r"\boxed{42}", "We add. The answer is 42.", 1.0, "the last sentence says it"),
    (r"\boxed{42}", "Then $x = 3$. So the total is $42$.", 1.0, "the last formula"),
    (r"\boxed{42}", "**Answer:** 42", 1.0, "emphasised"),
    (r"\boxed{42}", "It is 42. Not 43, since 43 is odd.", 0.0, "the last sentence says something else"),
    (r"\boxed{42}", "", 0.0, "nothing"),
    (r"\boxed{42}", " \n", 0.0, "nothing"),
    (r"\boxed{42}", r"First \boxed{41}, then \boxed{42}", 1.0, "the last box"),
    (r"\boxed{42}", r"\boxed{42} and then \boxed{4", 1.0, "the last complete box"),
    (r"\boxed{42}", r"\boxed{4 \boxed{42}", 1.0, "a box inside one that is never closed"),
    (r"\boxed{42}", r"\boxed 42", 1.0, "a box without braces"),
    (r"\boxed{42}", r"\fbox{42}", 1.0, "the other box"),
]


def test_answers_without_a_box_or_with_many() -> None:
    assert differing("math", list(WITHOUT_A_BOX)) == []


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"\boxed{\frac{\sqrt{6}}{3}}", r"\frac{\sqrt{6}}{3}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a \boxed{b} c} d", r"a \boxed{b} c"),
        (r"\boxed {5}", "5"),
        (r"a } \boxed{5} } {", "5"),
        (r"\boxed{", None),
        ("", None),
    ],
)
def test_boxes_are_found_by_counted_braces(text: str, box: str | None) -> None:
    assert last_box(text) == box


HOSTILE = {
    "a power tower": (r"\boxed{9^{9^{9^{9}}}}", INVALID),
    "a million boxes": (r"\boxed{" * 1_000_000, 0.0),
    "a million closed boxes": (r"\boxed{1}" * 300_000, 0.0),
    "a million dollars": ("$" * 1_000_000, 0.0),
    "a long number": (f"\\boxed{{{'9' * 100_000}}}", 0.0),
    "a deep fraction": ("\\boxed{" + r"\frac{1}{" * 150 + "1" + "}" * 151, None),
    "deep brackets": ("\\boxed{" + "(1," * 400 + "1" + ")" * 400 + "}", None),
    "many values": ("\\boxed{" + ",".join(map(str, range(400))) + "}", 0.0),
    "zero bytes": ("\\boxed{1\x002}", 0.0),
    "half of a pair": ("\\boxed{\ud800}", 0.0),
    "a division by zero": (r"\boxed{\frac{1}{0}}", 0.0),
    "code": (r"\boxed{__import__('os').system('exit')}", 0.0),
}


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.thinned(16)
def test_hostile_answers_are_wrong_or_invalid_and_the_next_item_is_scored(published: bool) -> None:
    name = "math-published" if published else "math"
    pairs: list[tuple[Any, Any]] = [(r"\boxed{x^2}", output) for output, _ in HOSTILE.values()]
    found = values(name, [*pairs, (r"\boxed{x^2}", r"\boxed{x\cdot x}")])
    assert found.pop() == 1.0
    for (what, (_, wanted)), value in zip(HOSTILE.items(), found, strict=True):
        assert value in (0.0, INVALID) if wanted is None or published else value == wanted, what


@pytest.mark.slow
def test_an_answer_that_can_not_be_compared_says_why() -> None:
    [score] = scores("math", [(item(r"\boxed{9}"), r"\boxed{9^{9^{9^{9}}}}")])
    assert isinstance(score, InvalidItemError)
    assert str(score) == "the comparison took longer than 2 s"


def test_what_was_read_and_why() -> None:
    [score] = scores("math", [(item(r"\boxed{2}"), r"so \boxed{3}")])
    assert score == type(score)(0.0, "3", "not 2")


PUBLISHED: list[tuple[Any, Any, float | str, str]] = [
    (r"\boxed{0.3333}", r"\boxed{0.333}", 1.0, "within 0.001"),
    (r"\boxed{0.5}", r"\boxed{0.502}", 0.0, "not within 0.001"),
    (
        r"\boxed{\frac{\sqrt{6}}{3}}.",
        r"Thus \boxed{3}. No, \boxed{\frac{\sqrt{6}}{3}}.",
        0.0,
        "two levels of braces are not found",
    ),
    (r"\boxed{50\%}", r"\boxed{0.5}", 1.0, "percent"),
    (r"\boxed{1,000}", r"\boxed{1000}", 1.0, "thousands"),
    (r"\boxed{\frac{1}{2000}}", r"\boxed{0}", 1.0, "within 0.001, whatever the number is"),
    (r"\boxed{x+1}", r"\boxed{1+x}", 1.0, "algebra"),
    (r"\boxed{x+1}", r"\boxed{x}", 0.0, "algebra"),
    ("It is so.", "Well. It is so.", 1.0, "the last sentence"),
    ("", "", 1.0, "nothing is nothing"),
]


def test_the_published_rule() -> None:
    assert differing("math-published", PUBLISHED) == []


def test_a_missing_package_is_said_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"needs the package math-verify; install them with: .* 'math-verify"):
        asyncio.run(metric("math").prepare())


@pytest.mark.slow
def test_sympy_is_imported_in_the_worker_only() -> None:
    program = (
        "import asyncio, sys\n"
        "from merrow_optimizer.evaluation.items import Item\n"
        "from merrow_optimizer.evaluation.metrics import metric\n"
        "async def main():\n"
        "    m = metric('math')\n"
        "    s = await m.score(Item('1', {}, r'\\boxed{x^2}'), r'\\boxed{x x}')\n"
        "    await m.close()\n"
        "    print(s.value, 'sympy' in sys.modules)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "False"]


@pytest.mark.slow
async def test_concurrent_items_share_the_worker() -> None:
    scored_by = metric("math")
    found = await asyncio.gather(
        *(scored_by.score(item(f"\\boxed{{x+{number}}}"), f"\\boxed{{{number}+x}}") for number in range(1, 20))
    )
    await scored_by.close()
    assert {score.value for score in found} == {1.0}


@pytest.mark.parametrize(
    ("gold", "answer", "is_right"),
    [
        ("3x-y+13=0", "So the line is 3x-y+13 = 0.", True),
        ("3x-y+13=0", r"\boxed{6x-2y+26=0}", True),
        ("3x-y+13=0", "0", False),
        ("3x-y+13=0", "The line is 3x-y+14=0.", False),
        ("The line is 3x - y + 13 = 0.", "Hence 3x - y + 13 = 0", True),
        (r"\boxed{x+2y=7}", "The line: x + 2y = 7", True),
        ("x+2y=7", "7", False),
        ("x = 5", "The answer is 5.", True),
        ("5", "Then x = 5", True),
        ("12", "So 2a + 3b = 12.", True),
        ("The sum 2a + 3b = 12.", "12", True),
        ("2+3 = 5", "5", True),
        ("y = 2x+3", "2x+3", True),
        (r"\frac{x^2}{4}+y^2=1", r"The curve is $\frac{x^2}{4}+y^2=1$.", True),
    ],
)
async def test_an_equation_without_a_box_is_read_whole(gold: str, answer: str, is_right: bool) -> None:
    using = metric("math")
    await using.prepare()
    try:
        found = await using.score(item(gold), answer)
    finally:
        await using.close()
    assert (found.value == 1) is is_right, found
