"""The tables of the journal, and how those of an older one become them.

Rows are numbered in the order they came, and a number is all that binds those of a run together: what is written during a
run is put at the end of tables and of indices, and touches few pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from merrow_runtime.provenance import UNKNOWN_ORIGIN

VERSION = 17
"""Written in the file; a file with a greater one comes from a newer Merrow."""

OLDEST = 2
"""The oldest version that can be migrated: the first one that was released."""

HOLDERS = 4
"""The version since which processes that work on runs are in ``holders``."""

_SINCE_4 = """
CREATE TABLE openings (
    token TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE bodies (
    number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, body TEXT NOT NULL
);
CREATE TABLE uses (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, part TEXT NOT NULL,
    body INTEGER NOT NULL REFERENCES bodies, PRIMARY KEY (run, part)
) WITHOUT ROWID;
CREATE INDEX uses_of_body ON uses (body);
CREATE TRIGGER use_ends AFTER DELETE ON uses BEGIN
    DELETE FROM bodies WHERE number = old.body AND NOT EXISTS (SELECT 1 FROM uses WHERE body = old.body);
END;
CREATE TRIGGER use_changes AFTER UPDATE OF body ON uses WHEN old.body <> new.body BEGIN
    DELETE FROM bodies WHERE number = old.body AND NOT EXISTS (SELECT 1 FROM uses WHERE body = old.body);
END;
"""

_SINCE_5 = """
CREATE TABLE evaluations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, workflow TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    seconds REAL NOT NULL, error TEXT, dataset TEXT NOT NULL, part TEXT NOT NULL, metric TEXT NOT NULL,
    model TEXT NOT NULL, seed INTEGER NOT NULL, repeats INTEGER NOT NULL, plan TEXT NOT NULL
);
CREATE TABLE scores (
    number INTEGER PRIMARY KEY, evaluation INTEGER NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    item TEXT NOT NULL, repeat INTEGER NOT NULL, status TEXT NOT NULL, value REAL, usage TEXT NOT NULL, seconds REAL NOT NULL,
    run TEXT NOT NULL, work BLOB NOT NULL, scored BLOB NOT NULL, read TEXT NOT NULL, reason TEXT NOT NULL, output TEXT,
    UNIQUE (evaluation, item, repeat)
);
CREATE INDEX scores_of_work ON scores (work);
"""

_SINCE_6 = """
CREATE TABLE packs (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, body BLOB NOT NULL
);
CREATE TABLE labels (
    number INTEGER PRIMARY KEY, item BLOB NOT NULL, output BLOB NOT NULL, other BLOB NOT NULL, verdict TEXT NOT NULL,
    at REAL NOT NULL, UNIQUE (item, output, other)
);
"""

_SINCE_7 = """
CREATE TABLE optimizations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, workflow TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    seconds REAL NOT NULL, error TEXT, dataset TEXT NOT NULL, part TEXT NOT NULL, metric TEXT NOT NULL,
    model TEXT NOT NULL, strategy TEXT NOT NULL, proposer TEXT NOT NULL, seed INTEGER NOT NULL, jobs INTEGER NOT NULL,
    over TEXT, held_out TEXT, plan TEXT NOT NULL
);
CREATE TABLE candidates (
    optimization INTEGER NOT NULL REFERENCES optimizations ON DELETE CASCADE, candidate INTEGER NOT NULL,
    parents TEXT NOT NULL, operator TEXT NOT NULL, title TEXT NOT NULL, key TEXT NOT NULL, calls INTEGER NOT NULL,
    nodes INTEGER NOT NULL, cost REAL, told REAL, text TEXT NOT NULL, PRIMARY KEY (optimization, candidate)
) WITHOUT ROWID;
CREATE TABLE draws (
    optimization INTEGER NOT NULL REFERENCES optimizations ON DELETE CASCADE, draw INTEGER NOT NULL,
    candidate INTEGER NOT NULL, crown INTEGER, told REAL, places TEXT NOT NULL, outcome TEXT,
    PRIMARY KEY (optimization, draw)
) WITHOUT ROWID;
CREATE TABLE trials (
    number INTEGER PRIMARY KEY, optimization INTEGER NOT NULL REFERENCES optimizations ON DELETE CASCADE,
    candidate INTEGER NOT NULL, draw INTEGER NOT NULL,
    item TEXT NOT NULL, repeat INTEGER NOT NULL, status TEXT NOT NULL, value REAL, usage TEXT NOT NULL, seconds REAL NOT NULL,
    run TEXT NOT NULL, work BLOB NOT NULL, scored BLOB NOT NULL, read TEXT NOT NULL, reason TEXT NOT NULL, output TEXT,
    UNIQUE (optimization, candidate, item, repeat)
);
CREATE INDEX trials_of_work ON trials (work);
CREATE TABLE readings (
    number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, part TEXT NOT NULL, reader TEXT NOT NULL, semantic TEXT NOT NULL,
    at REAL NOT NULL, UNIQUE (dataset, part, reader)
);
INSERT INTO readings (dataset, part, reader, semantic, at)
    SELECT dataset, part, id, CASE WHEN json_valid(plan) THEN coalesce(json_extract(plan, '$.semantic'), '') ELSE '' END,
        started FROM evaluations;
"""

_SINCE_8 = """
CREATE TABLE proposals (
    optimization INTEGER NOT NULL REFERENCES optimizations ON DELETE CASCADE, draw INTEGER NOT NULL, said TEXT NOT NULL,
    PRIMARY KEY (optimization, draw)
) WITHOUT ROWID;
"""

_REVISIONS = """
CREATE TABLE revisions (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, number INTEGER NOT NULL, state TEXT NOT NULL,
    trigger TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL, adopted TEXT NOT NULL, view TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""

_EXTRACTIONS = """
CREATE TABLE extractions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, cases TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    seconds REAL NOT NULL, error TEXT, dataset TEXT NOT NULL, part TEXT NOT NULL, metric TEXT NOT NULL,
    model TEXT NOT NULL, generator TEXT NOT NULL, seed INTEGER NOT NULL, plan TEXT NOT NULL
);
CREATE TABLE extracted (
    extraction INTEGER NOT NULL REFERENCES extractions ON DELETE CASCADE, key TEXT NOT NULL, said TEXT NOT NULL,
    PRIMARY KEY (extraction, key)
) WITHOUT ROWID;
"""
_SINCE_9 = _REVISIONS + _EXTRACTIONS

_NOTES_OF_LABELS = """
ALTER TABLE labels ADD COLUMN note TEXT NOT NULL DEFAULT '';
"""

_LOOPS_OF_SCORES = """
ALTER TABLE scores ADD COLUMN exhausted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN exhausted INTEGER NOT NULL DEFAULT 0;
"""

_FIELDS_OF_SCORES = """
ALTER TABLE scores ADD COLUMN fields TEXT;
ALTER TABLE scores ADD COLUMN others TEXT;
ALTER TABLE trials ADD COLUMN fields TEXT;
ALTER TABLE trials ADD COLUMN others TEXT;
"""

_JOBS = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, file TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    seconds REAL NOT NULL, error TEXT, plan TEXT NOT NULL
);
CREATE TABLE kept (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE, key TEXT NOT NULL, said TEXT NOT NULL, PRIMARY KEY (job, key)
) WITHOUT ROWID;
"""

_RANKINGS = """
CREATE TABLE rankings (
    number INTEGER PRIMARY KEY, item BLOB NOT NULL, products BLOB NOT NULL, rater TEXT NOT NULL, said TEXT NOT NULL,
    at REAL NOT NULL, UNIQUE (item, products, rater)
);
"""

_ASKS = """
CREATE TABLE asks (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    node TEXT NOT NULL, path TEXT NOT NULL, redo INTEGER NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL,
    hash TEXT NOT NULL, state TEXT NOT NULL, asked REAL NOT NULL, due REAL, answered REAL, by TEXT, question TEXT NOT NULL,
    answer TEXT
);
CREATE INDEX asks_of_run ON asks (run);
CREATE INDEX asks_open ON asks (state) WHERE state = 'asked';
"""

TABLES = f"""
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, workflow TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    seconds REAL, usage TEXT NOT NULL, sources TEXT, error TEXT, parent TEXT, failure TEXT,
    snapshot TEXT NOT NULL, outputs TEXT
);
CREATE INDEX runs_by_start ON runs (started);
CREATE TABLE holders (
    run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    holder TEXT, host TEXT, pid INTEGER, born TEXT, beat REAL, cancel INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE definitions (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, body TEXT NOT NULL
);
CREATE TABLE calls (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    node TEXT NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL, attempt INTEGER NOT NULL, request_hash TEXT NOT NULL,
    path TEXT NOT NULL, redo INTEGER NOT NULL,
    kind TEXT NOT NULL, usage TEXT NOT NULL, usable INTEGER NOT NULL, origin TEXT NOT NULL, endpoint TEXT NOT NULL,
    model TEXT NOT NULL, started REAL NOT NULL, seconds REAL NOT NULL, request TEXT NOT NULL, result TEXT NOT NULL
);
CREATE INDEX calls_of_run ON calls (run);
CREATE TABLE lost (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    node TEXT NOT NULL, sample INTEGER NOT NULL, step TEXT NOT NULL, attempt INTEGER NOT NULL, request_hash TEXT NOT NULL,
    usage TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL, path TEXT NOT NULL DEFAULT '', redo INTEGER NOT NULL DEFAULT 0
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
{_SINCE_4}{_SINCE_5}{_SINCE_6}{_SINCE_7}{_SINCE_8}{_SINCE_9}{_NOTES_OF_LABELS}{_LOOPS_OF_SCORES}{_JOBS}{_RANKINGS}{_ASKS}{_FIELDS_OF_SCORES}"""
"""The number of a deleted run is never used again. ``nodes.several`` holds nodes, turns and items that were written together.
``answers`` are in the order of their last use. Long columns come last: what is before them is read without them.

``bodies`` has texts that runs share, by the hash of each, once: ``uses`` says which part of a run each one is
(`WORKFLOW`, `DEFINITIONS`), and a text that no run uses any more goes with its last use. Runs of journals before version 4
have the workflow in their ``snapshot`` and their nodes' definitions in ``definitions``. ``seconds`` and ``sources`` are
NULL where an older version did not record them. ``scores`` has the answers of evaluations and what they are worth, by keys of
what decides an answer (``work``) and its score (``scored``), with what each field is worth (``fields``) and the values of
outputs beside the answer (``others``); ``trials`` has those of searches, each of a draw, or of the reading of the held-out
items where ``draw`` is 0, or only to be shown to a model where it is -1. ``proposals`` has what a model
proposed before a draw of a search. ``revisions`` has what was asked of a run's workflow while it went on.
``extracted`` has what an extraction has come by, its model's answers and the scores of cases, by ``key``. ``jobs`` has the
kinds of job that came later, and ``kept`` what those have come by. ``rankings`` says how people ranked products.
``asks`` has the questions that runs put to people, with the answers.
``readings`` says who read which part of what data, also where that was deleted since. ``openings`` has the processes that
have the journal open as one of their own, see `Store.open`.
"""

WORKFLOW, DEFINITIONS = "workflow", "definitions"
"""The parts of a run that are in ``bodies``: the snapshot of its workflow, and the definitions of its nodes. Those of nodes
that were planned are a part for each frame, named by both: ``definitions REFINE[1]/WORK``; those of a revision one for its
number: ``definitions !2``.
"""

STEPS = {
    2: f"""
ALTER TABLE runs ADD COLUMN seconds REAL;
ALTER TABLE runs ADD COLUMN sources TEXT;
ALTER TABLE calls ADD COLUMN endpoint TEXT NOT NULL DEFAULT '{UNKNOWN_ORIGIN}';
ALTER TABLE calls ADD COLUMN model TEXT NOT NULL DEFAULT '';
""",
    3: f"""
ALTER TABLE leases RENAME TO holders;
ALTER TABLE runs ADD COLUMN failure TEXT;
ALTER TABLE calls ADD COLUMN path TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN redo INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lost ADD COLUMN path TEXT NOT NULL DEFAULT '';
ALTER TABLE lost ADD COLUMN redo INTEGER NOT NULL DEFAULT 0;
{_SINCE_4}""",
    4: _SINCE_5,
    5: _SINCE_6,
    6: _SINCE_7,
    7: _SINCE_8,
    8: _SINCE_9,
    9: _NOTES_OF_LABELS,
    10: _LOOPS_OF_SCORES,
    11: _JOBS,
    12: _RANKINGS,
    13: _ASKS,
    14: "",
    15: "",
    16: _FIELDS_OF_SCORES,
}
"""What turns a journal of each older version into one of the next: columns and tables are added, and no row is rewritten.

``leases`` has another name since version 4: an older Merrow that has the file open takes no run any more, and so pays for no
call that it could not write down. One that has a journal of version 4 open goes on: nothing that it uses changes. Since
version 15 the rows of nodes name the visits whose results a memory holds, where they had its text before. Version 16 changes
only what a database has that several share.
"""


def statements(script: str) -> Iterator[str]:
    """The statements of a script of this module, to be executed one by one in the caller's transaction."""
    pending = ""
    for part in script.split(";"):
        pending += f"{part};"
        if sqlite3.complete_statement(pending):  # a trigger has semicolons within
            yield pending
            pending = ""
