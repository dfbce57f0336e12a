"""The tables of the journal.

Rows are numbered in the order they came, and a number is all that binds those of a run together: what is written while a
run goes on is put at the end of tables and of indices, and touches few pages.
"""

from __future__ import annotations

VERSION = 3
"""Stands in the file; a file with a greater one was written by a newer Merrow."""

TABLES = """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, workflow TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    seconds REAL NOT NULL, usage TEXT NOT NULL, sources TEXT NOT NULL, error TEXT, parent TEXT,
    failure TEXT,
    snapshot TEXT NOT NULL, outputs TEXT
);
CREATE INDEX runs_by_start ON runs (started);
CREATE TABLE leases (
    run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    holder TEXT, host TEXT, pid INTEGER, born TEXT, beat REAL, cancel INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE definitions (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, body TEXT NOT NULL
);
CREATE TABLE calls (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    node TEXT NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL, attempt INTEGER NOT NULL, request_hash TEXT NOT NULL,
    kind TEXT NOT NULL, usage TEXT NOT NULL, usable INTEGER NOT NULL, origin TEXT NOT NULL, endpoint TEXT NOT NULL,
    model TEXT NOT NULL, started REAL NOT NULL, seconds REAL NOT NULL, request TEXT NOT NULL, result TEXT NOT NULL
);
CREATE INDEX calls_of_run ON calls (run);
CREATE TABLE lost (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    node TEXT NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL, attempt INTEGER NOT NULL, request_hash TEXT NOT NULL,
    usage TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL
);
CREATE INDEX lost_of_run ON lost (run);
CREATE TABLE nodes (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, several TEXT NOT NULL
);
CREATE INDEX nodes_of_run ON nodes (run);
CREATE TABLE answers (
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, reply TEXT NOT NULL, used REAL NOT NULL
);
CREATE TABLE dialects (
    origin TEXT NOT NULL, model TEXT NOT NULL, learned TEXT NOT NULL, PRIMARY KEY (origin, model)
) WITHOUT ROWID;
"""
"""The number of a run that was deleted is never given again. ``nodes.several`` holds nodes that were written together.
``answers`` are in the order of their last use. Long columns come last: what is before them is read without them.
"""
