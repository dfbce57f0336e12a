"""Several questions at once."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from merrow_runtime.errors import AnswerFailure, EndpointFailure, NodeFailure, RunFailure
from merrow_runtime.together import together

T = TypeVar("T")
_OF_A_QUESTION = (AnswerFailure, EndpointFailure, NodeFailure)


async def concurrently(asked: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order. Where one fails the others come to their end all the same, since what they ask is paid and
    kept for a resume; then a failure is raised as it is: of those that concern the whole run the first in this order, else the
    first of all. Which came first in time is another matter after a resume, and must not decide how the node ends.
    """

    async def kept(question: Coroutine[Any, Any, T]) -> T | RunFailure:
        try:
            return await question
        except RunFailure as failure:
            return failure

    results = await together(map(kept, asked))
    failures = [result for result in results if isinstance(result, RunFailure)]
    if failures:
        raise next((failure for failure in failures if not isinstance(failure, _OF_A_QUESTION)), failures[0])
    return [result for result in results if not isinstance(result, RunFailure)]
