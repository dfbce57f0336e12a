"""Several questions at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from merrow_runtime.errors import AnswerFailure, EndpointFailure, NodeFailure, RunFailure

T = TypeVar("T")
_OF_A_QUESTION = (AnswerFailure, EndpointFailure, NodeFailure)


async def concurrently(asked: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order. Where one fails the others come to their end all the same, since what they ask is paid and
    kept for a resume; then a failure is raised as it is: of those that concern the whole run the first in this order, else the
    first of all. Which came first in time is another matter after a resume, and must not decide how the node ends.
    """

    async def kept(one: Coroutine[Any, Any, T]) -> T | RunFailure:
        try:
            return await one
        except RunFailure as failure:
            return failure

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(kept(one)) for one in asked]
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    results = [task.result() for task in tasks]
    failures = [one for one in results if isinstance(one, RunFailure)]
    if failures:
        raise next((one for one in failures if not isinstance(one, _OF_A_QUESTION)), failures[0])
    return [one for one in results if not isinstance(one, RunFailure)]
