"""Work that is done at the same time, where nothing that is paid may be lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(awaited: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. Whatever fails, a fault of Merrow included, ends none of the others: their calls may be paid, and
    what they ask is kept for a resume. The first failure, in this order, is raised once all have ended.
    """
    results: list[T] = []
    for one in await asyncio.gather(*awaited, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        results.append(one)
    return results
