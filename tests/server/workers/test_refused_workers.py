"""Workers that differ from the machine that an evaluation begins on are refused by name, before the first call."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest
from tests.server.program import merrow
from tests.server.workers.cluster import KEY, OWN, Shared, Worker, begun, data, newest, rows_of, waited

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX"),
    pytest.mark.thinned(3, "workers that are refused"),
    pytest.mark.parametrize("team", ["file"], indirect=True),
]


def site(folder: Path, text: str) -> dict[str, str]:
    """An environment in which Python runs this before anything else: what the worker then finds here is another machine's."""
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(text)
    return {"PYTHONPATH": str(folder)}


def other_metadata(folder: Path) -> dict[str, str]:
    (folder / "merrow-0.0.9.dist-info").mkdir(parents=True)
    (folder / "merrow-0.0.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: merrow\nVersion: 0.0.9\n")
    return {"PYTHONPATH": str(folder)}


WITHOUT = """
import importlib.metadata as metadata, sys
def version(name, known=metadata.version):
    if name == "merrow":
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
"""
OTHER_PYTHON = "import platform; platform.python_version = lambda: '3.10.4'"
NO_SANDBOX = "import merrow_runtime.sandbox.backends as backends; backends._BY_DEFAULT = ()"
CASES = {
    "merrow": "it has Merrow 0.0.9, and the evaluation began with ",
    "none": "it does not have Merrow; install Merrow ",
    "python": "it has Python 3.10.4, and the evaluation began with ",
    "endpoint": "its own settings lead to http://127.0.0.1:1, and the evaluation asks http://127.0.0.1:",
    "key": "it has no key for http://127.0.0.1:",
    "journal": "it doesn't see the journal of the evaluation: a journal in a file is for one machine",
    "sandbox": "it has the sandbox none, and the evaluation began with ",
}


def odd(at: Shared, folder: Path, what: str) -> Worker:
    """A worker that differs in one thing."""
    environments = {
        "merrow": lambda: other_metadata(folder / "site"),
        "none": lambda: site(folder / "site", WITHOUT),
        "python": lambda: site(folder / "site", OTHER_PYTHON),
        "sandbox": lambda: site(folder / "site", NO_SANDBOX),
        "endpoint": lambda: {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
        "key": lambda: {"OPENAI_API_KEY": ""},
        "journal": lambda: {"MERROW_STATE_DIR": str(folder / "elsewhere")},
    }
    return at.cluster.worker(environment=environments[what]())


@pytest.mark.parametrize("what", CASES)
def test_one_that_differs_is_named_and_the_others_do_the_work(at: Shared, tmp_path: Path, what: str) -> None:
    worker = odd(at, tmp_path, what)
    try:
        address = waited(lambda: next(iter(_addresses(worker)), ""), worker.log)
        done = at.evaluate("--fresh")
    finally:
        worker.end()
    assert done.code == 0, done.err
    [line] = [line for line in done.err.splitlines() if "is not used" in line]
    assert line.startswith(f"Note: Worker {address} is not used: {CASES[what]}")
    assert line.endswith(".")
    assert KEY not in done.err
    assert len(at.server.requests) == 120


def _addresses(worker: Worker) -> list[str]:
    return re.findall(r"Start worker at: +(\S+)", worker.log.read_text("utf-8", "replace"))


def test_where_all_are_refused_it_stops_before_the_first_call_and_can_be_continued(
    at: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", at.server.base_url.replace("127.0.0.1", "localhost"))
    done = at.evaluate("--fresh")
    assert done.code == 1
    assert "No worker can be used: tcp://127.0.0.1:" in done.err
    assert "its own settings lead to http://127.0.0.1:" in done.err
    assert not at.server.requests
    evaluation = newest()
    monkeypatch.undo()
    for name, value in at.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(at.folder)
    resumed = merrow("resume", evaluation, "--reuse", "any", "--engine", "dask", "--scheduler", at.cluster.address)
    assert resumed.code == 0, resumed.err
    assert len(rows_of(evaluation)) == 40


def test_one_that_joins_later_is_checked_too_and_works(at: Shared, tmp_path: Path) -> None:
    data(400)
    refused = "is not used: its own settings lead to http://127.0.0.1:1,"
    with at.server.holding(60):
        process = begun("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--scheduler", at.cluster.address)
        waited(lambda: len(at.server.requests) > 60)
        good, bad = at.cluster.worker(), odd(at, tmp_path, "endpoint")
        assert process.stderr is not None
        before = next(line for line in process.stderr if refused in line)
    try:
        _, err = process.communicate()
    finally:
        good.end()
        bad.end()
    assert process.returncode == 0, err
    assert (before + err).count(refused) == 1
    assert len(at.server.requests) == 1200


def test_a_journal_in_a_file_is_not_for_other_machines(
    at: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "own"))
    done = at.evaluate("--fresh")
    assert done.code == 1
    assert (
        "a journal in a file is for one machine and one MERROW_STATE_DIR, a journal in PostgreSQL for all" in done.err
    )
    assert not at.server.requests


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("tcp://127.0.0.1:9", "No Dask scheduler answers at tcp://127.0.0.1:9 within 10 seconds"),
        ("nowhere", "nowhere is not the address of a Dask scheduler; write it as tcp://HOST:PORT or tls://HOST:PORT."),
        ("http://127.0.0.1:80", "http://127.0.0.1:80 is not the address of a Dask scheduler"),
        ("tls://127.0.0.1:9", "No Dask scheduler answers at tls://127.0.0.1:9 within 10 seconds"),
    ],
)
def test_where_no_scheduler_answers_a_sentence_says_so_and_nothing_begins(
    at: Shared, address: str, sentence: str
) -> None:
    before = len(merrow("evaluations", "--format", "json").json)
    done = merrow("evaluate", "flow.mmd", *OWN, "--engine", "dask", "--scheduler", address)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1, done.err
    assert len(merrow("evaluations", "--format", "json").json) == before


def test_a_socket_that_never_answers_is_no_scheduler(at: Shared) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        done = merrow(
            "evaluate", "flow.mmd", *OWN, "--engine", "dask", "--scheduler", f"127.0.0.1:{silent.getsockname()[1]}"
        )
    assert done.code == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:" in done.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--chunk", "3"), "--chunk goes with --engine dask."),
        (("--scheduler", "127.0.0.1:1", "--engine", "local"), "--scheduler goes with --engine dask."),
    ],
)
def test_options_of_the_other_engine_are_refused(at: Shared, options: tuple[str, ...], sentence: str) -> None:
    done = merrow("evaluate", "flow.mmd", *OWN, *options)
    assert (done.code, done.err) == (2, f"merrow: {sentence}\n")


def test_a_broken_line_is_reported_before_a_scheduler_is_asked(at: Shared) -> None:
    lines = [f'{{"problem": "Twice {n}?", "answer": "{2 * n}"}}' for n in range(100_000)]
    lines[99_998] = '{"problem": "Twice'
    Path("big.jsonl").write_text("\n".join(lines) + "\n")
    done = merrow(
        "evaluate",
        "flow.mmd",
        "--dataset",
        "big.jsonl",
        "--gold",
        "answer",
        "--engine",
        "dask",
        "--scheduler",
        "127.0.0.1:9",
    )
    assert done.code == 2
    assert "big.jsonl:99999" in done.err or "line 99999" in done.err or "line 99,999" in done.err, done.err
    assert "scheduler" not in done.err
