"""The tables of the journal."""

from __future__ import annotations

VERSION = 1
"""Stands in the file; a file with a greater one was written by a newer Merrow."""

TABLES = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, workflow TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    snapshot TEXT NOT NULL, outputs TEXT, usage TEXT NOT NULL, error TEXT, parent TEXT
) WITHOUT ROWID;
CREATE TABLE leases (
    run TEXT PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    holder TEXT, host TEXT, pid INTEGER, born TEXT, beat REAL, cancel INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE calls (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, node TEXT NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL,
    attempt INTEGER NOT NULL, request_hash TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    usage TEXT NOT NULL, usable INTEGER NOT NULL, origin TEXT NOT NULL, started REAL NOT NULL, seconds REAL NOT NULL,
    UNIQUE (run, node, sample, step, attempt, request_hash)
);
CREATE TABLE lost (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, node TEXT NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL,
    attempt INTEGER NOT NULL, request_hash TEXT NOT NULL, usage TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL
);
CREATE INDEX lost_of_run ON lost (run);
CREATE TABLE nodes (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, node TEXT NOT NULL, status TEXT NOT NULL, key TEXT,
    usage TEXT NOT NULL, started REAL NOT NULL, ended REAL NOT NULL, error TEXT, chosen INTEGER, body TEXT NOT NULL,
    UNIQUE (run, node)
);
CREATE TABLE answers (key TEXT PRIMARY KEY, reply TEXT NOT NULL, used REAL NOT NULL);
CREATE INDEX answers_by_use ON answers (used);
CREATE TABLE dialects (
    origin TEXT NOT NULL, model TEXT NOT NULL, learned TEXT NOT NULL, PRIMARY KEY (origin, model)
) WITHOUT ROWID;
"""
