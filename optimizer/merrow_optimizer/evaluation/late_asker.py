"""What asks a model for a metric, which is made before it is known of which endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from merrow_runtime.asking.asker import ACCOUNT, Asker
from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.question import JobQuestion, Key, QuestionAttempt, ReadAnswer
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.cache import Cache

T = TypeVar("T")


def _parts(asked: QuestionAttempt) -> Sequence[Any]:
    account = ACCOUNT.get()
    assert account is not None  # noqa: S101 (an answer is scored on an account, which has the name of its run)
    return [account.name, asked.origin, asked.request.to_json()]


KEY = Key(_parts, is_own=True)
"""For each answer that is scored a judge is asked anew: what is known is from before the process died, or the search stopped."""


class LateAsker:
    """Asks the model of a name for a metric, once the evaluation has begun."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._asker: Asker | None = None

    def begin(self, chosen: ChosenEndpoint, workflow: str, known: Cache) -> None:
        """From here on this endpoint is asked, beside what the runs ask of it, and paid for ``workflow`` (a whole path). Answers
        are kept in ``known``, so that none is asked for again where the process dies before the score is.
        """
        self._asker = Asker(Purse(chosen, workflow), known, KEY)

    async def ask(self, question: JobQuestion[T]) -> ReadAnswer[T]:
        """See `Asker.ask`."""
        assert self._asker is not None  # noqa: S101 (answers are scored by an evaluation that has begun)
        return await self._asker.ask(question)

    def close(self) -> None:
        """No more is asked; what was paid is written down."""
        if self._asker is not None:
            self._asker.close()
