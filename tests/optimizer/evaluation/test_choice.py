"""The metric choice: which option an output chooses."""

from __future__ import annotations

import pytest
from tests.optimizer.evaluation.scoring import item, scores

from merrow_optimizer.evaluation.data import DataError
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.scores import Score

READ = [
    ("B", "B"),
    ("b", "B"),
    (" (B). ", "B"),
    ("**B**", "B"),
    ("B) Paris", "B"),
    ("B. Paris", "B"),
    ("The answer is B.", "B"),
    ("The answer is (b)", "B"),
    ("Answer: b", "B"),
    ("the answer is **b**.", "B"),
    ("Answer: a or b", ""),
    ("b) Paris", "B"),
    ("a) Rome\nb) Paris", ""),
    ("The answer to this question would be C.", "C"),
    ("The answer is A. Option B is wrong because of C, and so is option C.", "A"),
    ("Option A is not it, but C is correct.", "C"),
    ("B is the best answer, and A is the worst.", "B"),
    ("I choose option D, which fits.", "D"),
    ("Option A or option B", ""),
    ("The answer I would give.", ""),
    ("<answer>C</answer>", "C"),
    ('{"answer": "C"}', "C"),
    ("the best answer is 'C'", "C"),
    ("The answer is A's", ""),
    (r"\boxed{\text{D) Oslo}}", "D"),
    ("The correct answer is option C, not A.", "C"),
    ("Answer: **D**", "D"),
    (r"So $\boxed{C}$", "C"),
    (r"So \boxed{\text{(C)}}", "C"),
    ("A is wrong. The answer is B. No, the answer is C.", "C"),
    ("The answer is a bit unclear.", ""),
    ("I think A and B are wrong.\n\nC", "C"),
    ("Consider (A) first.", "A"),
    ("Either (A) or (B).", ""),
    ("", ""),
    ("K", ""),
    ("Paris", ""),
    ("(" * 300_000, ""),
    ("answer " * 200_000, ""),
    ("answer" + " " * 200_000, ""),
    ("option is" + "*" * 200_000, ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("output", "letter"), READ, ids=[output[:40] for output, _ in READ])
def test_the_letter_that_is_read(output: str, letter: str) -> None:
    [score] = scores("choice", [(item("B"), output)])
    assert isinstance(score, Score)
    assert (score.read, score.value) == (letter, float(letter == "B"))


def test_golds_and_answers_may_be_the_text_of_an_option() -> None:
    options = ["Rome", "Paris", "Oslo"]
    pairs = [
        (item(gold, choices=options), output) for gold in ("B", "paris", 1) for output in ("B", "Paris.", "Oslo", "D")
    ]
    found = scores("choice", pairs)
    assert [score.value for score in found if isinstance(score, Score)] == [1.0, 1.0, 0.0, 0.0] * 3


def test_golds_that_are_no_option() -> None:
    choice = metric("choice")
    for gold in ("K", "", None, True, 10, -1, "Paris", [], ["A", "K"]):
        assert choice.fault(item(gold)) is not None, gold
    assert choice.fault(item("C", choices=["x", "y"])) is not None
    assert choice.fault(item("A", choices=["x"])) == "there must be 2 to 26 options, not 1"
    assert choice.fault(item(["A", "B"])) is None
    assert metric("choice", letters=4).fault(item("E")) is not None
    with pytest.raises(DataError):
        metric("choice", letters=1)
