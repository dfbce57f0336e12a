"""Asking a model outside of a run: nothing is paid twice, and what was paid is kept before anything reads it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint

from merrow_runtime.asking.asker import ACCOUNT, Asker, PurposeAccount, UnknownAnswerError
from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.question import JobQuestion, Key, QuestionAttempt, ReadAnswer, Source
from merrow_runtime.errors import AnswerFailure, EndpointFailure
from merrow_runtime.requests import Message, ModelReply, ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import NOTHING, Usage

KEY = Key(lambda asked: [asked.origin, asked.request.to_json(), asked.request.max_tokens])
ONCE = Usage(10, 5, 1, 0.25)


def reply(text: str, finish: Any = "stop") -> ModelReply:
    return ModelReply(text, finish, ONCE)


def number(read: ModelReply) -> int:
    try:
        return int(read.text)
    except ValueError:
        raise AnswerFailure("No number.", advice="Answer with a number.") from None


def question(text: str = "How many?", **more: Any) -> JobQuestion[int]:
    return JobQuestion("count", "m", (Message("user", text),), number, **more)


class Place:
    """A store and an endpoint that gives these answers in turn, the last one again and again."""

    def __init__(self, *answers: ModelReply | Exception) -> None:
        self._answers = list(answers)
        self.store = MemoryStore()
        self.endpoint = FakeEndpoint(self._answer)

    def _answer(self, _: ModelRequest) -> ModelReply | Exception:
        return self._answers[min(len(self.endpoint.seen), len(self._answers)) - 1]

    def asker(self, key: Key = KEY, **more: Any) -> Asker:
        return Asker(Purse(ChosenEndpoint(self.endpoint), "flow.mmd"), self.store.cache, key, **more)


@pytest.fixture(autouse=True)
def state(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))


async def test_an_answer_is_paid_once_and_known_from_then_on() -> None:
    place = Place(reply("7"))
    asker = place.asker()
    assert await asker.ask(question()) == ReadAnswer(7, "7", ONCE, 1, "endpoint")
    assert await asker.ask(question()) == ReadAnswer(7, "7", NOTHING, 1, "cache")
    other = place.asker(only_known=True)
    assert (await other.ask(question())).value == 7
    assert (asker.used, asker.known, other.used, other.known) == (ONCE, 1, NOTHING, 1)
    with pytest.raises(UnknownAnswerError):
        await other.ask(question("Another?"))
    assert len(place.endpoint.seen) == 1
    await place.asker(fresh=True).ask(question())
    assert len(place.endpoint.seen) == 2


async def test_what_can_not_be_read_goes_back_with_the_reason() -> None:
    place, heard = Place(reply("well"), reply("hm"), reply("3")), list[int]()
    answer = await place.asker().ask(question(tries=3, again=heard.append))
    assert (answer.value, answer.attempts, answer.usage.calls, heard) == (3, 3, 3, [1, 2])
    first, second, third = (one.messages for one in place.endpoint.seen)
    assert second == (*first, Message("assistant", "well"), Message("user", "Answer with a number."))
    assert third == (*first, Message("assistant", "hm"), Message("user", "Answer with a number."))
    never = Place(reply("well"), reply("hm"), reply("3"))
    with pytest.raises(AnswerFailure, match="No number"):
        await never.asker().ask(question(tries=2))
    assert len(never.endpoint.seen) == 2


async def test_an_answer_that_was_cut_off_is_not_shown_and_the_next_may_be_longer() -> None:
    place = Place(reply("one and", "length"), reply("1"))
    await place.asker().ask(question(tries=2, max_tokens=10, longer=20))
    first, second = place.endpoint.seen
    assert (first.max_tokens, second.max_tokens) == (10, 20)
    assert "one and" not in str(second.messages)


@pytest.mark.parametrize("fault", [RecursionError(), KeyError("x"), asyncio.CancelledError()])
async def test_it_is_kept_and_counted_whatever_its_reader_throws(fault: BaseException) -> None:
    place, account = Place(reply("7")), PurposeAccount("a score")
    ACCOUNT.set(account)

    def fails(_: ModelReply) -> int:
        raise fault

    asker = place.asker()
    with pytest.raises(type(fault)):
        await asker.ask(JobQuestion("count", "m", question().messages, fails))
    assert (asker.used, account.used) == (ONCE, ONCE)
    assert (await place.asker().ask(question())).source == "cache"
    assert len(place.endpoint.seen) == 1


async def test_equal_questions_on_their_way_are_one() -> None:
    place = Place(reply("7"))
    asker = place.asker()
    answers = await asyncio.gather(*(asker.ask(question()) for _ in range(5)), asker.ask(question("Other?")))
    assert [one.value for one in answers] == [7] * 6
    assert sorted(one.source for one in answers) == ["endpoint", "endpoint", *["shared"] * 4]
    assert (len(place.endpoint.seen), asker.used.calls) == (2, 2)


async def test_the_failure_of_a_question_is_that_of_its_equals() -> None:
    place = Place(EndpointFailure("gone", fatal=True))
    asker = place.asker()
    failures = await asyncio.gather(*(asker.ask(question()) for _ in range(3)), return_exceptions=True)
    assert [str(one) for one in failures] == ["gone"] * 3
    assert len(place.endpoint.seen) == 1


async def test_cancelling_who_asks_first_cancels_nobody_else() -> None:
    place = Place(reply("7"))
    place.endpoint.gate = asyncio.Event()
    asker = place.asker()
    first, other = (asyncio.ensure_future(asker.ask(question())) for _ in range(2))
    await place.endpoint.until_asked(1)
    first.cancel()
    await place.endpoint.until_asked(2)  # by the other one
    place.endpoint.gate.set()
    assert (await other).value == 7
    assert first.cancelled()
    # What the call that was cancelled may have used is counted beside that of the answer.
    assert asker.used.calls == 2


async def test_after_a_cancel_nobody_asks() -> None:
    place = Place(reply("7"))
    place.endpoint.gate = asyncio.Event()
    asker = place.asker()
    asking = [asyncio.ensure_future(asker.ask(question(tries=3))) for _ in range(4)]
    await place.endpoint.until_asked(1)
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    asker.close()
    place.endpoint.gate.set()
    await asyncio.sleep(0)
    assert (len(place.endpoint.seen), place.endpoint.finished) == (1, 0)


async def test_what_only_the_job_can_have_paid_is_counted_when_it_is_found() -> None:
    place = Place(reply("7"))
    own = Key(KEY.parts, is_own=True)
    await place.asker(own).ask(question())
    again, account = place.asker(own), PurposeAccount("a score")
    ACCOUNT.set(account)
    assert (await again.ask(question())).usage == NOTHING
    assert (again.used, account.used) == (ONCE, ONCE)


class Kept:
    """Rows of a job in a list."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, str, Source]] = []
        self.answer: ModelReply | None = None

    async def find(self, asked: QuestionAttempt) -> ModelReply | None:
        there = any(row[:2] == (asked.purpose, asked.attempt) for row in self.rows)
        return self.answer if there else None

    async def keep(self, asked: QuestionAttempt, reply: ModelReply, source: Source, started: float) -> None:
        assert started > 0
        self.rows.append((asked.purpose, asked.attempt, reply.text, source))
        self.answer = reply


async def test_the_rows_of_a_job_come_before_the_cache_and_get_every_answer() -> None:
    place, rows = Place(reply("well"), reply("7")), Kept()
    asker = place.asker(rows=rows)
    others = [JobQuestion(name, "m", question().messages, number, tries=2) for name in ("a", "b")]
    await asyncio.gather(*(asker.ask(one) for one in others))
    assert sorted(rows.rows) == [
        ("a", 0, "well", "endpoint"), ("a", 1, "7", "endpoint"), ("b", 0, "well", "shared"), ("b", 1, "7", "shared"),
    ]  # fmt: skip
    assert len(place.endpoint.seen) == 2
    rows.rows.append(("c", 0, "7", "endpoint"))
    assert (await asker.ask(JobQuestion("c", "m", (Message("user", "New?"),), number))).source == "job"
    await place.asker(rows=rows).ask(JobQuestion("d", "m", others[0].messages, number, tries=2))
    assert [row[3] for row in rows.rows if row[0] == "d"] == ["cache", "cache"]


@pytest.mark.parametrize("damaged", [{"usage": {}}, {"text": "7"}, {"text": "7", "usage": "none"}])
async def test_an_answer_that_is_damaged_is_asked_for_again(damaged: dict[str, Any]) -> None:
    from merrow_runtime.store.cache import kept
    from merrow_runtime.values import canonical

    place = Place(reply("7"))
    request = ModelRequest("m", question().messages)
    key = KEY.of(QuestionAttempt("count", place.endpoint.origin, request, 0))
    await place.store.cache.writer.write(kept(key, canonical(damaged), 0.0))
    assert (await place.asker().ask(question())).source == "endpoint"
