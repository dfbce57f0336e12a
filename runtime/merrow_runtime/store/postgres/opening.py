"""The tables of a journal in PostgreSQL: made, brought up to date, and checked, by one process at a time."""

from __future__ import annotations

import time

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.address import StoreAddress
from merrow_runtime.store.postgres.connection import PostgresConnection
from merrow_runtime.store.postgres.dialect import PERMITS, added, tables
from merrow_runtime.store.schema import STEPS as SQLITE_STEPS
from merrow_runtime.store.schema import VERSION
from merrow_runtime.store.sql import PATIENCE, DatabaseFailure

STEPS: dict[int, tuple[str, ...]] = {
    13: added(SQLITE_STEPS[13]),
    14: (),
    15: added(PERMITS),
    16: added(SQLITE_STEPS[16]),
}
"""What turns a journal of each older version into one of the next. The first version in PostgreSQL is 13."""

_TRIES = 20
"""How often a change of the tables is tried that others are in the way of."""
_PAUSE = 0.25
"""Seconds between two tries."""

GRANTS = """
DO $$ DECLARE given record; BEGIN
FOR given IN SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS who
    FROM pg_class, aclexplode(relacl) WHERE oid = 'every_run'::regclass AND grantee <> relowner
    AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
LOOP EXECUTE format('GRANT %s ON ALL TABLES IN SCHEMA %I TO %s', given.privilege_type, current_schema(), given.who);
END LOOP; END $$
"""
"""After a change of the tables: who may read or write the runs may do so with tables that are new."""


def connect(address: StoreAddress, job: str = "", *, lasts: bool = True, waits: float = PATIENCE) -> PostgresConnection:
    """A connection to the journal at an address, with the tables of this version; for reading alone where its user may do no
    more. See `PostgresConnection`. Raises `StoreFailure`.
    """
    database = PostgresConnection(address, job, lasts=lasts, waits=waits)
    try:
        _bring_up_to_date(database)
        database.refused = _why_not(database)
    except StoreFailure:
        database.close()
        raise
    return database


def _bring_up_to_date(database: PostgresConnection) -> None:
    for left in reversed(range(_TRIES)):
        if _version(database) == VERSION:
            return
        try:
            _changed(database)
        except DatabaseFailure as failure:
            # A change waits for those that work, who may wait for it: then the server gives one of them up.
            if failure.why not in ("conflict", "away") or not left:
                raise
            time.sleep(_PAUSE)


def _changed(database: PostgresConnection) -> None:
    """Bring the tables up to date, in one transaction."""
    schema = database.address.schema
    database.asked("BEGIN")
    try:
        # Whoever comes at the same moment waits here, and finds all done.
        database.asked("SELECT pg_advisory_xact_lock(hashtext($1))", [f"merrow {schema}"])
        version = _version(database)
        if version == 0:
            if not database.asked("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]).fetchall():
                database.asked(f"CREATE SCHEMA {schema}")
            statements = tables()
        else:
            statements = [sql for number in range(version, VERSION) for sql in STEPS[number]]
            statements += [GRANTS, f"UPDATE merrow SET version = {VERSION}"]  # noqa: S608 (a number of this package)
        for statement in statements if version != VERSION else ():
            database.script(statement)
        database.asked("COMMIT")
    except DatabaseFailure as failure:
        database.rollback()
        if failure.why == "read-only":
            raise StoreFailure(
                f"The journal at {database.address.shown} has no tables of this version yet, and you may not make them: let the"
                f" owner of the schema {schema} run merrow journal check once."
            ) from failure
        raise
    except BaseException:
        database.rollback()
        raise


def _version(database: PostgresConnection) -> int:
    """The version of the tables, 0 where there are none. Raises `StoreFailure` for one of a newer Merrow."""
    schema = database.address.schema
    there = database.asked("SELECT to_regclass($1)::text", [f"{schema}.merrow"]).fetchone()[0]
    version = 0 if there is None else int(database.asked("SELECT max(version) FROM merrow").fetchone()[0] or 0)
    if version > VERSION:
        raise StoreFailure(
            f"The journal at {database.address.shown} was written by a newer Merrow; update this one, or name another journal."
        )
    return version


def _why_not(database: PostgresConnection) -> StoreFailure | None:
    """Why this user can't write there; None where they can."""
    sql = (
        "SELECT current_user, pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',"
        " has_table_privilege($1, 'INSERT')"
    )
    user, is_copy, may = database.asked(sql, [f"{database.address.schema}.every_run"]).fetchone()
    where = f"The journal at {database.address.shown}"
    if is_copy:
        return StoreFailure(f"{where} can only be read now: its server takes no writes.")
    if not may:
        return StoreFailure(
            f"{where} can only be read by {user}, who may not write there; ask its owner for the role of a writer."
        )
    return None
