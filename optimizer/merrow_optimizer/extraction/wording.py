"""Stage 4, the model's part: the prompt of each chosen operator, from the steps that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from merrow_optimizer.extraction.generator import TEXT_VALUE, Generator, object_schema, question
from merrow_optimizer.extraction.grouping import StepReference
from merrow_optimizer.extraction.leaks import CaseLeaks
from merrow_optimizer.extraction.naming import shown_members, takes
from merrow_optimizer.extraction.pooling import PooledOperator
from merrow_optimizer.extraction.steps import Steps, read_prompt

STAGE = 4
SCHEMA = object_schema("prompt", prompt=TEXT_VALUE)


async def word(
    chosen: PooledOperator,
    members: Sequence[StepReference],
    cases: Mapping[str, Steps],
    leaks: CaseLeaks,
    generator: Generator,
) -> PooledOperator:
    """A chosen operator with the model's prompt; as it is where no answer could be used."""
    shown = {
        "The operator": {"name": chosen.name, **takes(chosen.signature)},
        "Its steps": shown_members(cases, members),
    }
    of_cases = sorted({place.case for place in members})

    def read(answer: Mapping[str, Any]) -> str:
        prompt = read_prompt(answer.get("prompt"), "the operator")
        leaks.check(prompt, of_cases)
        return prompt

    new_prompt = await generator.answer(STAGE, question("wording", shown, SCHEMA), SCHEMA, read)
    return chosen if new_prompt is None else replace(chosen, prompt=new_prompt)
