"""What caches and journals have of questions outside of runs stays known: the keys are those that were used first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.optimizer.scripted_asker import ScriptedPurse

from merrow_optimizer.evaluation import late_asker
from merrow_optimizer.evaluation.cases import judging
from merrow_optimizer.extraction.generator import Generator
from merrow_optimizer.planning import questions
from merrow_optimizer.suggestions import candidate_answers
from merrow_runtime.asking.asker import ACCOUNT, Asker, PurposeAccount
from merrow_runtime.asking.question import JobQuestion, Key, QuestionAttempt
from merrow_runtime.asking.rows import JobRows
from merrow_runtime.requests import AnswerSchema, Message, ModelRequest
from merrow_runtime.store.cache import kept
from merrow_runtime.store.memory import MemoryStore

MESSAGES = (Message("system", "Say é."), Message("user", 'x "y"\n'))
SCHEMA = AnswerSchema("s", {"type": "object"})
ORIGIN = "https://models.example"
WHOLE = {
    "text": "a", "finish": "stop", "model": "", "seconds": 0.5, "thinking": "",
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "calls": 1, "cost_usd": 0.5},
}  # fmt: skip
SHORT = {"text": "a", "usage": WHOLE["usage"]}
"""As answers of judges of evaluations were kept."""


@pytest.mark.parametrize(
    ("key", "more", "known", "kept_as"),
    [
        (
            candidate_answers.KEY,
            {"purpose": "candidates", "max_tokens": 1500},
            "57231ba4147d6216c70386a70937b9e7",
            WHOLE,
        ),
        (questions.KEY, {"purpose": "coverage"}, "07e2b6488c0091eb4f528b71235f44dc", WHOLE),
        (late_asker.KEY, {"purpose": "judge"}, "f250913c2d95263a18c9f65ea2e937b3", SHORT),
        (judging.KEY, {"purpose": "judge 3"}, "64cebe348082120365401033a80f0a48", WHOLE),
    ],
)
async def test_an_answer_of_any_kind_is_found(
    key: Key, more: dict[str, Any], known: str, kept_as: dict[str, Any]
) -> None:
    ACCOUNT.set(PurposeAccount("abc/item/1"))
    store, purse = MemoryStore(), ScriptedPurse(lambda _: "paid", ORIGIN)
    await store.cache.writer.write(kept(bytes.fromhex(known), json.dumps(kept_as), 0.0))
    question = JobQuestion(model="m", messages=MESSAGES, read=lambda reply: reply.text, schema=SCHEMA, **more)
    answer = await Asker(purse, store.cache, key).ask(question)
    assert (answer.value, answer.source, purse.asked) == ("a", "cache", [])


@pytest.mark.parametrize(
    ("key", "purpose", "temperature", "known"),
    [
        (questions.KEY, "2", 1.0, "f6f84fe6043e8cccefe9202776cb81ce"),
        (judging.KEY, "judge 3", 0.0, "2fdec0b7b7079df56aa8138f9bb6511b"),
    ],
)
async def test_an_answer_to_what_was_put_again_is_found(key: Key, purpose: str, temperature: float, known: str) -> None:
    """Keys that count how often a question was put, by the second one."""
    request = ModelRequest("m", MESSAGES, temperature, schema=SCHEMA)
    assert key.of(QuestionAttempt(purpose, ORIGIN, request, 1)).hex() == known


async def test_an_answer_of_an_extraction_is_found_in_its_rows_and_in_the_cache() -> None:
    row = "answer 2 169fcdbf8c154d902fb289e022aaaf8b399c0a8aa104dd407caa2265c0f14c5c"
    store, purse = MemoryStore(), ScriptedPurse(lambda _: "paid", ORIGIN)
    said = {**WHOLE, "text": '{"a": 1}'}
    rows = JobRows("x", store.extractions, {row: {**said, "paid": True}})
    generator = Generator("m", Asker(purse, MemoryStore().cache, candidate_answers.KEY, rows))
    assert await generator.answer(2, MESSAGES, SCHEMA, dict) == {"a": 1}
    assert (rows.used.calls, purse.asked) == (1, [])
    await store.cache.writer.write(kept(bytes.fromhex("15c2cbaa762020c49c98810bbdbd929d"), json.dumps(said), 0.0))
    question = JobQuestion("2", "m", MESSAGES, lambda reply: reply.text, SCHEMA, max_tokens=4_000)
    assert (await Asker(purse, store.cache, candidate_answers.KEY).ask(question)).source == "cache"
