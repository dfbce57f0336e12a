"""Calls, nodes and outputs of a run that ended, packed: an evaluation has thousands of runs, whose prompts, nodes and outputs
repeat the answers of their calls.

All readers take `CALLS` and `NODES` for the tables, and `OUTPUTS` for that column: they have what is in either form.
"""

from __future__ import annotations

import json
import zlib

from merrow_runtime.store.connection import DatabaseConnection
from merrow_runtime.store.rows import CALL_COLUMNS
from merrow_runtime.store.sql import Database, Statement

_LEVEL = 1
"""Of zlib: what follows makes a run of three calls smaller by 5 %, in 1.2 to 2 times the time."""

_NAMES = CALL_COLUMNS.split(", ")
_UNPACKED = ", ".join(f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(_NAMES, start=1))

CALLS = (
    f"(SELECT number, run, {CALL_COLUMNS} FROM calls UNION ALL"  # noqa: S608 (texts of this package)
    f" SELECT json_extract(value, '$[0]') AS number, run, {_UNPACKED} FROM packs, json_each(unpacked(body), '$[0]')) AS calls"
)
"""To be read in place of the table ``calls``; always with the number of a run, so that no others are unpacked."""

NODES = (
    "(SELECT number, run, several FROM nodes UNION ALL SELECT json_extract(value, '$[0]') AS number, run,"
    " json_extract(value, '$[1]') AS several FROM packs, json_each(unpacked(body), '$[1]')) AS nodes"
)
"""The same for the table ``nodes``."""

OUTPUTS = (
    "coalesce(outputs, (SELECT json_extract(unpacked(body), '$[2]') FROM packs WHERE run = runs.number)) AS outputs"
)
"""The same for the column ``outputs`` of ``runs``."""

_DAMAGED = json.dumps([[[0, *("" for _ in _NAMES)]], [[0, ""]], ""])
"""What a pack that can't be read is read as: a damaged call, damaged nodes and damaged outputs."""


def teach(database: DatabaseConnection) -> None:
    """Let a connection read packs."""
    database.create_function("unpacked", 1, _unpacked, deterministic=True)


def pack(database: Database, run: int) -> tuple[Statement, ...]:
    """What puts a pack in place of the rows of a run, all of which are committed. Raises `StoreFailure`."""
    calls = database.execute(
        f"SELECT number, {CALL_COLUMNS} FROM calls WHERE run = ? ORDER BY number",  # noqa: S608 (texts of this package)
        (run,),
    ).fetchall()
    nodes = database.execute("SELECT number, several FROM nodes WHERE run = ? ORDER BY number", (run,)).fetchall()
    (outputs,) = database.execute("SELECT outputs FROM runs WHERE number = ?", (run,)).fetchone()
    body = zlib.compress(json.dumps([calls, nodes, outputs], separators=(",", ":")).encode(), _LEVEL)
    return (
        ("INSERT OR IGNORE INTO packs (run, body) VALUES (?, ?)", (run, body)),
        ("DELETE FROM calls WHERE run = ? AND run IN (SELECT run FROM packs)", (run,)),
        ("DELETE FROM nodes WHERE run = ? AND run IN (SELECT run FROM packs)", (run,)),
        ("UPDATE runs SET outputs = NULL WHERE number = ? AND number IN (SELECT run FROM packs)", (run,)),
    )


def _unpacked(body: bytes) -> str:
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, UnicodeDecodeError, TypeError):
        return _DAMAGED
