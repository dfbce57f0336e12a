"""What differs between the SQL of SQLite, which `merrow_runtime.store` is written in, and that of PostgreSQL.

Statements are translated as they are met, and each translation is kept: the parts that Merrow uses are few.
"""

from __future__ import annotations

import re
from functools import lru_cache

from merrow_runtime.store.packing import CALLS, NODES, OUTPUTS
from merrow_runtime.store.schema import TABLES, VERSION, statements

_KEYS = {
    "answers": "key",
    "candidates": "optimization, candidate",
    "dialects": "origin, model",
    "extracted": "extraction, key",
    "holders": "run",
    "kept": "job, key",
    "labels": "item, output, other",
    "proposals": "optimization, draw",
    "rankings": "item, products, rater",
    "scores": "evaluation, item, repeat",
    "trials": "optimization, candidate, item, repeat",
}
"""By what a row of a table is replaced."""
_NUMBERED = frozenset({"answers", "labels", "rankings", "scores", "trials"})
"""Tables whose rows are read in the order in which they came: one that replaces another is the newest."""

_REPLACE = re.compile(r"INSERT OR REPLACE INTO (\w+) \(([^)]*)\)")
_PLACE = re.compile(r"'(?:[^']|'')*'|\?(\d*)|(?<![:\w]):([a-z_]\w*)")
_TOTAL = re.compile(r"\btotal\((\w+)\)")


@lru_cache(maxsize=1024)
def translated(sql: str) -> tuple[str, tuple[int | str, ...]]:
    """A statement, with ``$1``, ``$2``, ... for its places, and which value each one is, by its place or its name."""
    sql = sql.strip().replace(CALLS, "calls").replace(NODES, "nodes").replace(OUTPUTS, "outputs")
    sql = sql.replace("'' AS author", "author")
    sql = _TOTAL.sub(r"coalesce(sum(\1), 0)", sql)
    replaced = _REPLACE.match(sql)
    if replaced is not None:
        table, columns = replaced.groups()
        key = _KEYS[table].split(", ")
        changed = [f"{name} = excluded.{name}" for name in columns.split(", ") if name not in key]
        if table in _NUMBERED:
            changed.append("number = DEFAULT")
        sql = f"{sql.replace(' OR REPLACE', '', 1)} ON CONFLICT ({_KEYS[table]}) DO UPDATE SET {', '.join(changed)}"
    elif sql.startswith("INSERT OR IGNORE"):
        sql = f"{sql.replace(' OR IGNORE', '', 1)} ON CONFLICT DO NOTHING"
    order: list[int | str] = []

    def place(found: re.Match[str]) -> str:
        number, name = found.groups()
        if name is None and number is None:
            return found[0]  # a text in the statement
        which: int | str = name or (int(number) - 1 if number else len(order))
        if which not in order:
            order.append(which)
        return f"${order.index(which) + 1}"

    return _PLACE.sub(place, sql), tuple(order)


FUNCTIONS = """
CREATE FUNCTION json_valid(said text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN PERFORM said::json; RETURN true; EXCEPTION WHEN others THEN RETURN false; END $$;
CREATE FUNCTION json_extract(said text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT (said::json #> string_to_array(substr(path, 3), '.'))::text $$;
CREATE FUNCTION json_array_length(said text, path text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE WHEN json_typeof(found) = 'array' THEN json_array_length(found) WHEN found IS NOT NULL THEN 0 END
FROM (SELECT said::json #> string_to_array(substr(path, 3), '.') AS found) AS one $$;
"""
"""Functions of SQLite, as far as statements use them: of a text with JSON, and a path such as ``$.tasks.changed``."""

SPENDING = """
CREATE TABLE spent (
    day TEXT NOT NULL, workflow TEXT NOT NULL, origin TEXT NOT NULL, model TEXT NOT NULL,
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    usd REAL NOT NULL, unpriced INTEGER NOT NULL, PRIMARY KEY (day, workflow, origin, model)
) WITHOUT ROWID;
CREATE TABLE begun (
    number INTEGER PRIMARY KEY, day TEXT NOT NULL, workflow TEXT NOT NULL, origin TEXT NOT NULL, model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, usd REAL NOT NULL, unpriced INTEGER NOT NULL
);
CREATE TABLE paced (number INTEGER PRIMARY KEY, origin TEXT NOT NULL, at REAL NOT NULL, tokens INTEGER NOT NULL);
CREATE INDEX paced_by_origin ON paced (origin, at);
"""
PERMITS = """
ALTER TABLE paced ADD COLUMN requests INTEGER NOT NULL DEFAULT 1;
CREATE TABLE paused (
    origin TEXT NOT NULL, model TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (origin, model)
) WITHOUT ROWID;
"""
"""Since version 16. See `merrow_runtime.spending.ledger`."""

LISTED = ("runs", "evaluations", "optimizations", "extractions", "jobs")
"""The tables whose rows a person lists: each row knows who made it."""

SHARED = """
ALTER TABLE runs RENAME TO every_run;
ALTER TABLE every_run ADD COLUMN job TEXT NOT NULL DEFAULT current_setting('merrow.job');
CREATE VIEW runs AS SELECT * FROM every_run WHERE job = current_setting('merrow.job');
CREATE INDEX runs_of_job ON every_run (job, started DESC, id);
CREATE INDEX runs_of_workflow ON every_run USING hash (workflow);
DROP INDEX runs_by_start;
ALTER TABLE openings RENAME TO every_opening;
ALTER TABLE every_opening ADD COLUMN job TEXT NOT NULL DEFAULT current_setting('merrow.job');
CREATE VIEW openings AS SELECT * FROM every_opening WHERE job = current_setting('merrow.job');
ALTER TABLE calls ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX calls_by_key ON calls (run, again, md5(
    node || '|' || path || '|' || redo || '|' || sample || '|' || step || '|' || attempt || '|' || request_hash || '|' || endpoint
));
DROP INDEX calls_of_run;
CREATE INDEX calls_in_order ON calls (run, number);
CREATE INDEX nodes_in_order ON nodes (run, number);
DROP INDEX nodes_of_run;
CREATE INDEX answers_by_use ON answers (used);
CREATE TABLE merrow (version INTEGER NOT NULL, journal TEXT NOT NULL);
"""
"""What only a database has that several share: the runs of jobs beside those of people (a session sees one kind, by its setting
``merrow.job``), and the key of a call. ``again`` counts the calls with this key that a process knew of when it made another.
"""


def tables() -> list[str]:
    """The statements that make the tables of this version in an empty schema."""
    own = [
        _created(statement)
        for statement in statements(TABLES + SPENDING + PERMITS)
        if "CREATE TRIGGER" not in statement
    ]
    authors = [
        f"ALTER TABLE {table} ADD COLUMN author TEXT NOT NULL DEFAULT current_setting('merrow.author')"
        for table in LISTED
    ]
    starts = [f"CREATE INDEX {table}_by_start ON {table} (started DESC, id)" for table in LISTED[1:]]
    shared = [_created(statement) for statement in SHARED.split(";\n") if statement.strip()]
    return [
        FUNCTIONS,
        *own,
        *authors,
        *starts,
        *shared,
        f"INSERT INTO merrow VALUES ({VERSION}, gen_random_uuid()::text)",  # noqa: S608 (a number of this package)
    ]


def added(script: str) -> tuple[str, ...]:
    """The statements that add to the tables of an older version what a step of `merrow_runtime.store.schema` adds."""
    table = "REFERENCES every_run"  # `runs` is a view by then, see `SHARED`
    return tuple(_created(statement).replace("REFERENCES runs", table) for statement in statements(script))


def _created(statement: str) -> str:
    """A statement that makes or changes a table."""
    if "PRAGMA" in statement or statement.strip().startswith("INSERT"):
        return "SELECT 1"
    for pattern, instead in _TYPES:
        statement = pattern.sub(instead, statement)
    return statement


_TYPES = (
    (
        re.compile(r"number INTEGER PRIMARY KEY(?: AUTOINCREMENT)?"),
        "number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    ),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) WITHOUT ROWID"), ")"),
)
