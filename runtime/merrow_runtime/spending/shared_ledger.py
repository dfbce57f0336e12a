"""What calls cost, in the database of a journal that several share: one sum, one limit, whoever spends."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_runtime.spending.ledger import Ledger
from merrow_runtime.store.address import StoreAddress
from merrow_runtime.store.postgres.opening import connect
from merrow_runtime.store.sql import AWAY, Database, DatabaseFailure

T = TypeVar("T")


class SharedLedger(Ledger):
    """The `Ledger` of all who share a journal. Days and minutes are those of the server's clock."""

    def __init__(self, address: StoreAddress) -> None:
        """Raises `StoreFailure` where the database can't be reached."""
        self._database = connect(address, lasts=False)
        self._database.waits = AWAY
        self._process = os.getpid()
        self._begin_empty(self._database.now)

    def is_at_its_path(self) -> bool:
        """Whether it is that of this process: a fork can't use the connection of the one that it comes from."""
        return self._process == os.getpid()

    def _transaction(self, work: Callable[[Database], T], *, is_alone: bool = False) -> T:
        def after_others(database: Database) -> T:
            # One after the other: many that read and write the calls of the last minute at once would be in each other's way.
            database.execute(
                "SELECT pg_advisory_xact_lock(hashtext(?))", (f"merrow pace {self._database.address.schema}",)
            )
            return work(database)

        try:
            result: T = self._database.transaction(after_others if is_alone else work, is_alone=False)
        except DatabaseFailure as problem:
            raise self._failure(problem) from problem
        return result

    def _failure(self, problem: DatabaseFailure) -> StoreFailure:
        return StoreFailure(f"What calls cost can't be kept. {problem}")
