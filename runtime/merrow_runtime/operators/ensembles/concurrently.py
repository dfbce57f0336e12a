"""Several questions at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from merrow_runtime.errors import RunFailure

T = TypeVar("T")


async def concurrently(asked: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order. Where one fails the others come to their end all the same, since what they ask is paid and
    kept for a resume; then the first failure is raised as it is.
    """
    failures: list[RunFailure] = []

    async def kept(one: Coroutine[Any, Any, T]) -> list[T]:
        try:
            return [await one]
        except RunFailure as failure:
            failures.append(failure)
            return []

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(kept(one)) for one in asked]
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    if failures:
        raise failures[0]
    return [result for task in tasks for result in task.result()]
