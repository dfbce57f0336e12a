"""A prompt may not have anything of its cases: planted words and answers are found, and prompts of no case are let through."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tests.shared import SHARED

from merrow_optimizer.evaluation.data import read_items
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.extraction.leaks import CaseLeaks, answer_words
from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_optimizer.extraction.solved_cases import SolvedCase
from merrow_optimizer.suggestions.leaks import words

needs_data = pytest.mark.skipif(
    not (SHARED / "datasets").is_dir(), reason="the data sets are not beside the repository"
)

_DOES = (
    "Read the problem and list everything that is given, each quantity with its unit.",
    "Write a plan: which values to work out first, which follow from them, and how the answer is reached.",
    "Carry out the plan step by step. Show each calculation on a line of its own.",
    "Check the solution: look for slips of arithmetic, missing cases and steps that do not follow.",
    "State the final answer in the form that the problem asks for, simplified, and nothing else.",
    "Name the theorem or identity that applies and say why its conditions hold.",
    "Translate the words of the problem into equations, one for each condition.",
    "Split the problem into cases that do not overlap and cover everything.",
    "Compare the candidates and keep the one that the evidence supports best.",
    "Count what is asked for by complementary counting where that is shorter.",
    "Find the sentence of the passage that answers the question and quote the part that does.",
    "Solve the equations for what is unknown, and discard solutions that the problem rules out.",
)
_FORMS = (
    "{}",
    "{} Keep it short.",
    "You are given the problem and what is known so far. {}",
    "{} Say so where something is missing.",
    "{} Do not solve the rest of the problem.",
    "Work carefully. {} Use plain words.",
)
GENERIC = [form.format(one) for one in _DOES for form in _FORMS]
"""Prompts that anybody might write, without a case in view."""


def cases_of(name: str) -> list[SolvedCase]:
    data = read_items(SHARED / "datasets" / f"{name}_validate.jsonl", part="all", solved=True)
    return [SolvedCase(item, data.solutions[item.id]) for item in data.items]


def is_refused(leaks: CaseLeaks, prompt: str, case: str) -> bool:
    try:
        leaks.check(prompt, [case])
    except AnswerRefused as why:
        return why.is_leak
    return False


@needs_data
def test_prompts_of_no_case_are_let_through() -> None:
    """At most one in a thousand, of all prompts against all cases of MATH and GSM8K."""
    alarms = checks = 0
    for name in ("math", "gsm8k"):
        cases = cases_of(name)
        leaks = CaseLeaks(cases, is_code=False)
        for prompt in GENERIC:
            for case in cases:
                checks += 1
                alarms += is_refused(leaks, prompt, case.id)
    assert checks > 20_000
    assert alarms <= checks / 1_000, (alarms, checks)


@needs_data
@pytest.mark.parametrize("name", ["math", "gsm8k"])
def test_planted_leaks_are_refused(name: str) -> None:
    """Five words in a row that fewer than three cases have, and answers."""
    cases = cases_of(name)
    leaks = CaseLeaks(cases, is_code=False)
    texts = [" ".join(words(text)) for case in cases for text in (case.problem, case.solution)]
    for number, case in enumerate(cases):
        chance = Random(number)
        said = words(case.problem)
        at = chance.randrange(max(1, len(said) - 5))
        run = " ".join(said[at : at + 5])
        generic = chance.choice(GENERIC)
        is_own = sum(f" {run} " in f" {text} " for text in texts) < 3 and len(said) >= 5
        if is_own:
            assert is_refused(leaks, f"{generic} {run.upper()}.", case.id), run
        for answer in answer_words(case):
            assert is_refused(leaks, f"{generic} It is {answer}.", case.id), answer


@needs_data
def test_answers_have_numbers_of_two_digits_and_words_of_four_letters_alone() -> None:
    for case in [*cases_of("math"), *cases_of("gsm8k")]:
        for answer in answer_words(case):
            digits, letters = sum(map(str.isdigit, answer)), len(re.findall(r"[^\W\d_]", answer))
            assert digits >= 2 or letters >= 4


@pytest.mark.parametrize(
    ("answer", "prompt", "refused"),
    [
        ("42", "It is 42.", True),
        ("7", "It is 7.", False),
        ("1,234", "It is 1234.", True),
        ("1234", "Use 1,234 here.", True),
        ("3.5", "It is 3.5 at most.", True),
        ("-15", "Take minus 15.", True),
        ("\\\\frac{14}{3}", "Take 14/3.", True),
        ("blue", "Say Blue.", True),
        ("red", "Say red.", False),
        ("\\\\text{even}", "Say even.", True),
    ],
)
def test_which_answers_no_prompt_may_have(answer: str, prompt: str, refused: bool, tmp_path: Path) -> None:
    file = tmp_path / "math_validate.jsonl"
    file.write_text(f'{{"id": "a", "problem": "Which?", "solution": "So \\\\boxed{{{answer}}}."}}', encoding="utf-8")
    data = read_items(file, solved=True)
    cases = [SolvedCase(item, data.solutions[item.id]) for item in data.items]
    assert is_refused(CaseLeaks(cases, is_code=False), prompt, "a") == refused
    assert not is_refused(CaseLeaks(cases, is_code=True), prompt, "a")


def test_what_three_cases_share_is_nobodys(tmp_path: Path) -> None:
    lines = [
        f'{{"id": "a{n}", "problem": "Find the sum of all digits, given {word} pebbles.", "solution": "\\\\boxed{{7}}"}}'
        for n, word in enumerate(("amber", "cobalt", "violet"))
    ]
    file = tmp_path / "math_validate.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    data = read_items(file, solved=True)
    cases = [SolvedCase(item, data.solutions[item.id]) for item in data.items]
    assert not is_refused(CaseLeaks(cases, is_code=False), "Find the sum of all digits.", "a0")
    assert is_refused(CaseLeaks(cases[:2], is_code=False), "Find the sum of all digits.", cases[0].id)
    assert is_refused(CaseLeaks(cases, is_code=False), "Of all digits, given amber things.", "a0")


@pytest.mark.parametrize("name", ["problem", "PROBLEM", "Problem"])
def test_the_problem_of_a_case_is_found_however_its_input_is_spelt(name: str) -> None:
    assert SolvedCase(Item("1", {name: "How many?"}, "3"), "Three.").problem == "How many?"
