"""Makes ``examples/extraction``: twelve problems with solutions, and the recording that ``merrow extract --replay`` answers from.

All of it was written by hand: the problems, their solutions, what the model that names operators answers, and what the steps of
each case answer. No model was asked, and the recording says nothing of one.

    .venv/bin/python scripts/make_extraction.py
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_optimizer.extraction.sessions import begin, work
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.models.tokens import estimate_tokens, prompt_tokens
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.extractions.prepared_extraction import ExtractionAsked, prepare_extraction

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "extraction"


@dataclass(frozen=True)
class Problem:
    """A problem with its solution; ``said`` is what each of its five steps answers: facts, plan,"
    " work, check, answer.
    """

    subject: str
    problem: str
    solution: str
    said: tuple[str, str, str, str, str]


PROBLEMS = (
    Problem(
        "Number Theory",
        "Let $n$ be the smallest positive integer such that $n$ leaves remainder 3 when divided by 7"
        " and remainder 5 when divided"
        " by 11. What is $n$?",
        "Numbers that leave remainder 5 by 11 are 5, 16, 27, 38, ... Their remainders by 7 are 5, 2, 6,"
        " 3. The fourth fits, so"
        " $n = \\boxed{38}$.",
        (
            "Given: n = 3 (mod 7) and n = 5 (mod 11), n positive and least. Wanted: n.",
            "List the numbers 5 + 11k and reduce each modulo 7 until the remainder is 3.",
            "k = 0: 5 gives 5. k = 1: 16 gives 2. k = 2: 27 gives 6. k = 3: 38 gives 3. So n = 38.",
            "38 = 5*7 + 3 and 38 = 3*11 + 5, and no smaller number of the list fits: confirmed.",
            "\\boxed{38}",
        ),
    ),
    Problem(
        "Number Theory",
        "How many positive divisors of $2^4 \\cdot 3^3 \\cdot 5$ are perfect squares?",
        "A square divisor has even exponents: 0, 2 or 4 of the prime 2, 0 or 2 of the prime 3, and 0 of"
        " the prime 5. That makes"
        " $3 \\cdot 2 \\cdot 1 = \\boxed{6}$.",
        (
            "Given: the factorisation with exponents 4, 3, 1. Wanted: the number of its divisors that are squares.",
            "Count the even exponents that each prime may have and multiply the counts.",
            "Prime 2: 0, 2, 4, three ways. Prime 3: 0, 2, two ways. Prime 5: 0, one way. 3*2*1 = 6.",
            "The squares are 1, 4, 16, 9, 36, 144: six of them, confirmed.",
            "\\boxed{6}",
        ),
    ),
    Problem(
        "Number Theory",
        "What is the units digit of $7^{45} + 3^{22}$?",
        "Powers of 7 end in 7, 9, 3, 1 in turn, and $45 = 4 \\cdot 11 + 1$, so $7^{45}$ ends in 7."
        " Powers of 3 end in 3, 9, 7, 1, and"
        " $22 = 4 \\cdot 5 + 2$, so $3^{22}$ ends in 9. $7 + 9 = 16$ ends in $\\boxed{6}$.",
        (
            "Given: two powers with large exponents. Wanted: the last digit of their sum.",
            "Find the period of the last digits of each base, reduce the exponents by it, then add.",
            "7: period 4, 45 leaves 1, digit 7. 3: period 4, 22 leaves 2, digit 9. 7 + 9 = 16, digit 6.",
            "7^1 ends in 7 and 3^2 in 9, as the reduced exponents say; 16 ends in 6: confirmed.",
            "\\boxed{6}",
        ),
    ),
    Problem(
        "Counting & Probability",
        "A box has 4 red and 6 blue marbles. Three are drawn without replacement. What is the"
        " probability that exactly two of them"
        " are red? Give a common fraction.",
        "There are $\\binom{10}{3} = 120$ draws, and $\\binom{4}{2} \\cdot 6 = 36$ of them have exactly two red ones."
        " $\\frac{36}{120} = \\boxed{\\frac{3}{10}}$.",
        (
            "Given: 4 red, 6 blue, three drawn together. Wanted: the probability of exactly two red, as a fraction.",
            "Count all draws and those with two red and one blue, then divide and reduce.",
            "All: C(10,3) = 120. Wanted: C(4,2)*C(6,1) = 6*6 = 36. 36/120 = 3/10.",
            "The cases of 0, 1, 2, 3 red are 20 + 60 + 36 + 4 = 120 in all: confirmed.",
            "\\boxed{\\frac{3}{10}}",
        ),
    ),
    Problem(
        "Counting & Probability",
        "In how many ways can the letters of the word LEVEL be arranged in a row?",
        "There are 5 letters, with L twice and E twice: $\\frac{5!}{2! \\cdot 2!} = \\boxed{30}$.",
        (
            "Given: five letters L, E, V, E, L; two pairs are alike. Wanted: how many different rows.",
            "Divide the orders of all letters by those of the letters that are alike.",
            "5! = 120, and 2!*2! = 4. 120/4 = 30.",
            "Choosing places: C(5,2) for L, C(3,2) for E, 1 for V: 10*3*1 = 30, confirmed.",
            "\\boxed{30}",
        ),
    ),
    Problem(
        "Counting & Probability",
        "Two fair dice are rolled. What is the probability that the larger of the two numbers shown is"
        " 4? Give a common fraction.",
        "Both are at most 4 in 16 of 36 outcomes, and both at most 3 in 9. So the larger one is 4 in 7 of them:"
        " $\\boxed{\\frac{7}{36}}$.",
        (
            "Given: 36 equally likely outcomes of two dice. Wanted: the probability that the maximum is 4.",
            "Count the outcomes with maximum at most 4, take away those with maximum at most 3.",
            "4*4 = 16, 3*3 = 9, 16 - 9 = 7. The probability is 7/36.",
            "(4,1) to (4,4) and (1,4) to (3,4) are 4 + 3 = 7 outcomes: confirmed.",
            "\\boxed{\\frac{7}{36}}",
        ),
    ),
    Problem(
        "Prealgebra",
        "A train leaves at 9:40 and travels at 84 kilometres per hour. It has to go 119 kilometres. How"
        " many minutes does the trip"
        " take?",
        "$119 / 84 = 17/12$ hours, which is $17 \\cdot 5 = \\boxed{85}$ minutes.",
        (
            "Given: the speed 84 km/h and the way 119 km; the time of departure does not matter. Wanted: minutes.",
            "Divide the way by the speed and turn hours into minutes.",
            "119/84 = 17/12 h. 17/12 * 60 = 85 minutes.",
            "84 km take 60 minutes, the other 35 km take 25: 85 in all, confirmed.",
            "\\boxed{85}",
        ),
    ),
    Problem(
        "Prealgebra",
        "The average of five numbers is 14. When one of them is left out, the average of the others is"
        " 12. Which number was left"
        " out?",
        "The sum of all is $5 \\cdot 14 = 70$, that of the four others $4 \\cdot 12 = 48$. The number"
        " is $70 - 48 = \\boxed{22}$.",
        (
            "Given: five numbers with mean 14, four of them with mean 12. Wanted: the fifth.",
            "Turn both means into sums and subtract.",
            "5*14 = 70, 4*12 = 48, 70 - 48 = 22.",
            "(48 + 22)/5 = 70/5 = 14: confirmed.",
            "\\boxed{22}",
        ),
    ),
    Problem(
        "Prealgebra",
        "A price is raised by 25 % and the new price is then lowered by 20 %. By how many percent does"
        " the final price differ from"
        " the original one?",
        "$1.25 \\cdot 0.8 = 1$, so that it is the same: $\\boxed{0}$ percent.",
        (
            "Given: a factor for a rise of a quarter, then one for a fall of a fifth. Wanted: the change in percent.",
            "Multiply the factors and compare the product with 1.",
            "5/4 * 4/5 = 1, so nothing changes: 0 percent.",
            "A price of 100 becomes 125 and then 100 again: confirmed.",
            "\\boxed{0}",
        ),
    ),
    Problem(
        "Precalculus",
        "What is the dot product of the vectors from $(1,2)$ to $(4,6)$ and from $(1,2)$ to $(-3,5)$?",
        "The vectors are $(3,4)$ and $(-4,3)$, with the product $-12 + 12 = \\boxed{0}$.",
        (
            "Given: a common starting point and two end points. Wanted: the dot product of the vectors.",
            "Subtract coordinates, multiply them in pairs and add.",
            "(3,4) and (-4,3): 3*(-4) + 4*3 = -12 + 12 = 0.",
            "One vector is the other one turned by a right angle, so the product vanishes: confirmed.",
            "\\boxed{0}",
        ),
    ),
    Problem(
        "Precalculus",
        "For which acute angle $x$, in degrees, is $\\sin 2x = \\cos(x + 15^\\circ)$?",
        "$\\cos(x + 15) = \\sin(75 - x)$, so $2x = 75 - x$ and $x = \\boxed{25}$. The other solution of"
        " the sine is not acute.",
        (
            "Given: an equation between a sine and a cosine, x acute. Wanted: x in degrees.",
            "Write the cosine as the sine of the complement and compare the angles.",
            "cos(x + 15) = sin(75 - x). 2x = 75 - x gives x = 25. 2x = 180 - (75 - x) gives x = 105, not acute.",
            "sin 50 and cos 40 are equal: confirmed.",
            "\\boxed{25}",
        ),
    ),
    Problem(
        "Precalculus",
        "The points $A = (0,0)$, $B = (6,0)$ and $C = (2,5)$ are the corners of a triangle. What is its area?",
        "With the base $AB = 6$ and the height 5 the area is $\\frac{1}{2} \\cdot 6 \\cdot 5 = \\boxed{15}$.",
        (
            "Given: three corners, two of them on the x-axis. Wanted: the area.",
            "Take the side on the axis as base and the other corner's height.",
            "The base is 6, the height is 5: 6*5/2 = 15.",
            "The determinant 6*5 - 0*2 = 30, half of it is 15: confirmed.",
            "\\boxed{15}",
        ),
    ),
)

NAMES = (
    ("list givens", "read statement", "collect data", "name unknowns"),
    ("choose method", "outline approach", "pick strategy"),
    ("carry out", "compute values", "derive result", "work it out"),
    ("verify result", "double check", "look for slips"),
    ("state answer", "write final", "box result"),
)
DOES = (
    "Says what is given and what is wanted.",
    "Says how to get from what is given to what is wanted.",
    "Does the calculations.",
    "Checks the calculations in another way.",
    "Gives the result alone.",
)
PROMPTS = (
    (
        "List everything that the problem gives, and say what it asks for. Leave out what does not matter.",
        "Read the problem and put its data into short statements. Name the unknown. Solve nothing yet.",
        "Write down the quantities and conditions of the problem in symbols, and the form that the result must have.",
        "Say in your own words what is known and what is to be found.",
    ),
    (
        "Choose a method that leads from the known quantities to the wanted one, and say it in a sentence or two.",
        "Outline the solution: which quantities follow from which, in order. Calculate nothing yet.",
        "Pick the shortest way to the result and name its steps.",
    ),
    (
        "Carry out the method step by step and show each calculation.",
        "Do what was planned. Write every intermediate value, exactly rather than rounded.",
        "Follow the plan and derive the result; simplify as you go.",
        "Work the plan out with the data, one line for each step.",
    ),
    (
        "Check the result in another way than it was found, and correct it where it is wrong.",
        "Go through the work once more, look for slips, and say whether the result holds.",
        "Test the result against every condition of the problem. Repeat it where it passes.",
    ),
    (
        "State the final result in the form that is asked for, in a box, and nothing else.",
        "Write the answer alone, simplified, in \\boxed{}.",
        "Give the result that was checked, boxed.",
    ),
)
KINDS = ("Analysis", "Plan", "Analysis", "Analysis", "Answer")
GROUPS = {
    "Problem -> Analysis": ("ReadFacts", "List what the problem gives and what it asks for, in short statements."),
    "Analysis, Problem -> Plan": ("ChooseMethod", "Say which method leads from what is known to what is asked for."),
    "Plan, Problem -> Analysis": ("FollowPlan", "Carry out the plan step by step, with every calculation."),
    "Analysis, Plan, Problem -> Analysis": (
        "WorkData",
        "Carry out the plan with what is known, and keep every value exact.",
    ),
    "Analysis, Problem -> Analysis": ("CheckWork", "Check what was worked out in another way and correct it."),
    "Analysis, Problem -> Answer": ("StateAnswer", "State the checked result in a box, in the form that is asked for."),
    "Analysis, Plan, Problem -> Answer": ("CloseCase", "Compare the result with the plan and state it in a box."),
}
STEPS: tuple[Mapping[str, str], ...] = (
    {"FollowPlan": "SolveSteps", "WorkData": "SolveSteps", "StateAnswer": "Finalize", "CloseCase": "Finalize"},
    {"SolveSteps": "WorkThrough", "CheckWork": "WorkThrough"},
    {"ReadFacts": "Analyze", "WorkThrough": "Analyze", "ChooseMethod": "PlanMethod"},
)
"""What each step of a path puts together; all else stays as it is."""
WORDS = {
    "SolveSteps": "Carry out the plan with what is known, step by step, and keep every value exact.",
    "Finalize": "State the checked result in a box, simplified and in the form that the problem"
    " asks for, and nothing else.",
    "WorkThrough": "Work the problem out as far as what you are given allows, and check the work in another way.",
    "Analyze": "Move the solution on by one stage. With the problem alone, say what is given and"
    " what is asked for; with a plan,"
    " carry it out exactly; with work that is done, check it in another way and correct it.",
    "PlanMethod": "From what is known, choose the shortest method that leads to what is asked for,"
    " and name its steps in order.",
}


def case_steps(number: int) -> list[dict[str, Any]]:
    """The five steps of a case, as the model would say them."""
    names = [f"{some[(number + at) % len(some)]}" for at, some in enumerate(NAMES)]
    reads = [[], [0], [1] if number % 2 else [0, 1], [2], [3] if number % 3 else [1, 3]]
    return [
        {
            "name": name,
            "does": DOES[at],
            "reads": ["PROBLEM", *(names[one] for one in reads[at])],
            # Some say less than they could: what it is follows from the other cases.
            "gives": "Text" if (number, at) in ((4, 0), (7, 4)) else KINDS[at],
            "prompt": PROMPTS[at][(2 * number + at) % len(PROMPTS[at])],
            "built_in": None,
        }
        for at, name in enumerate(names)
    ]


class Written:
    """Answers as they were written by hand."""

    origin = "merrow:example"

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer any question of this extraction."""
        del on_text
        messages = request.messages
        shown = _shown(messages[1].content) if request.schema is not None and len(messages) > 1 else {}
        text = json.dumps(self._said(request, shown)) if shown else self._carried_out(request)
        usage = Usage(prompt_tokens(request), estimate_tokens(text), 1, 0.0)
        return ModelReply(text, "stop", usage, "written by hand")

    async def close(self) -> None:
        """Nothing is open."""

    def _said(self, request: ModelRequest, shown: Mapping[str, Any]) -> Any:
        tries = sum(one.role == "user" and "can't be used" in one.content for one in request.messages)
        if "The problem" in shown:
            number = next(at for at, one in enumerate(PROBLEMS) if one.problem == shown["The problem"])
            steps = case_steps(number)
            if number == 6 and not tries:  # It repeats its case at first, which is refused.
                steps[2]["prompt"] = "Divide the way by the speed of 84 kilometres per hour. It has to go far."
            return {"steps": steps}
        if "The operators" in shown:
            return self._deepened(request, shown["The operators"], tries)
        operator = shown["The operator"]
        if "name" in operator:
            return {"prompt": WORDS[operator["name"]]}
        name, prompt = GROUPS[f"{', '.join(operator['takes'])} -> {operator['gives']}"]
        return {"name": name, "prompt": prompt}

    def _deepened(self, request: ModelRequest, operators: Sequence[Mapping[str, Any]], tries: int) -> Any:
        now = list(operators)
        step = 0
        for one in request.messages[2:]:
            if one.role == "assistant" and '"takes"' in one.content:
                now, step = json.loads(one.content)["operators"], step + 1
        mapping = STEPS[step]
        if step == 2 and request.temperature == 0.8:
            mapping = {"ChooseMethod": "PlanMethod"}  # One path stops short of the others.
        targets = {one["name"]: mapping.get(one["name"], one["name"]) for one in now}
        said = {
            "operators": [
                {"name": name, "prompt": WORDS.get(name) or _prompt_of(name, now)}
                for name in dict.fromkeys(targets.values())
            ],
            "mapping": [
                {
                    "from": name,
                    "to": target,
                    "reason": "it is needed as it is" if name == target else "the same kind of work",
                }
                for name, target in targets.items()
            ],
        }
        if step == 0 and request.temperature == 0.2 and not tries:
            said["mapping"].pop()  # A mapping that loses an operator goes back.
        return said

    def _carried_out(self, request: ModelRequest) -> str:
        """The next thing to say about a case, by what has been said of it."""
        asked = "\n".join(one.content for one in request.messages)
        found = next(one for one in PROBLEMS if one.problem in asked)
        return found.said[max((at + 1 for at, said in enumerate(found.said[:4]) if said in asked), default=0)]


def _prompt_of(name: str, operators: Sequence[Mapping[str, Any]]) -> str:
    return str(next(one["prompt"] for one in operators if one["name"] == name))


def _shown(text: str) -> dict[str, Any]:
    found = re.findall(r"^(.+):\n<<<([0-9a-f]{20})\n(.*)\n\2>>>", text, re.MULTILINE)
    return {name: json.loads(body) for name, _, body in found}


async def _make(user: Store, cases: Path, recording: Path) -> None:
    asked = ExtractionAsked(EvaluationRequest(str(cases)), record=str(recording))
    prepared = await prepare_extraction(asked, user, lambda *_: ChosenEndpoint(Written(), concurrency=1))
    data = prepared.data
    record = begin(user, prepared.plan, str(cases), data.hash, data.part, prepared.again)
    extractor = await work(user, record, prepared.plan, lambda *_: None)
    await prepared.close()
    assert extractor.stopped_by is None, extractor.stopped_by  # noqa: S101


def main() -> None:
    """Write the cases and the recording."""
    FOLDER.mkdir(exist_ok=True)
    cases, recording = FOLDER / "math_validate.jsonl", FOLDER / "operators.replay.jsonl"
    rows = [
        {
            "problem": one.problem,
            "level": "Level 5",
            "type": one.subject,
            "solution": one.solution,
            "id": f"case_{number:02d}",
        }
        for number, one in enumerate(PROBLEMS, 1)
    ]
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, closing(Store.open(Path(folder) / "runs.sqlite")) as user:
        asyncio.run(_make(user, cases, recording))


if __name__ == "__main__":
    main()
