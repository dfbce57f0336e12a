"""Journals that are damaged, on a full disk or on a read-only file system: commands say so in a sentence, or still read them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.server.lsp.editor import MODERN, Editor, ServerError
from tests.server.program import GOOD, in_process
from tests.small_disk import fill, small_disk

from merrow_runtime.errors import StoreFailure
from merrow_runtime.spending import ledger
from merrow_runtime.store.database import Store
from merrow_runtime.store.location import FILE, STATE_VARIABLE

READERS = ("runs", "show", "show RUN", "show RUN --format json", "show EVAL", "show EVAL --format json", "evaluations")
READERS = (*READERS, "optimizations", "runs --kind extraction", "costs --all")
WRITERS = (
    "resume RUN",
    "resume EVAL",
    "cancel RUN",
    "revise RUN f.mmd",
    "runs --delete RUN",
    "run f.mmd --input problem=b",
)
WRITERS = (*WRITERS, "evaluate f.mmd --dataset d.jsonl --metric contains --gold answer --fresh", "plan task")
COMMANDS = (*READERS, *WRITERS, "doctor", "test --save RUN")


class Journal:
    """A state folder with a run and an evaluation, and commands on it in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], run: str = "", evaluation: str = "") -> None:
        self.folder, self._capsys, self.run, self.evaluation = folder, capsys, run, evaluation

    @property
    def file(self) -> Path:
        return self.folder / FILE

    def command(self, words: str) -> Any:
        ledger._OPEN.clear()
        said = [{"RUN": self.run, "EVAL": self.evaluation}.get(word, word) for word in words.split()]
        return in_process(self._capsys, *said)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Journal:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.mmd").write_text(GOOD)
    (tmp_path / "d.jsonl").write_text('{"problem": "p", "answer": "x"}\n')
    made = Journal(tmp_path / "state", capsys)
    monkeypatch.setenv(STATE_VARIABLE, str(made.folder))
    assert made.command("run f.mmd --input problem=a").code == 0
    assert made.command("evaluate f.mmd --dataset d.jsonl --metric contains --gold answer").code == 0
    made.run = made.command("runs --format json").json[0]["run"]
    made.evaluation = made.command("evaluations --format json").json[0]["evaluation"]
    return made


def damaged(data: bytes, random: Random) -> bytes:
    """A file with some bytes that are others: anywhere, in its head, in what names its tables, in a page, in texts."""
    after = bytearray(data)
    kind = random.choice(["bits", "head", "schema", "page", "text"])
    if kind == "bits":
        for _ in range(random.choice([1, 50, 500])):
            after[random.randrange(len(after))] ^= 1 << random.randrange(8)
    elif kind == "head":
        for _ in range(4):
            after[random.randrange(16, 400)] = random.randrange(256)
    elif kind == "schema":
        for _ in range(8):
            after[random.randrange(100, 16_384)] = random.choice([0x80, 0xC3, 0xFF])
    elif kind == "page":
        start = random.randrange(len(after) // 4096) * 4096
        after[start : start + 100] = bytes([random.choice([0, 128, 255])]) * 100
    else:
        letters = [place for place, byte in enumerate(after) if 97 <= byte < 123]
        for place in random.sample(letters, 100):
            after[place] = random.choice([0xFF, 0x30, 0x22, 0x7B])
    return bytes(after)


@pytest.mark.thinned(8, "flipped bytes")
@pytest.mark.parametrize("words", COMMANDS)
def test_flipped_bytes_are_told_in_one_sentence(journal: Journal, words: str) -> None:
    good = journal.folder.with_name("good")
    shutil.copytree(journal.folder, good)
    files = [path.relative_to(good) for path in sorted(good.rglob("*.sqlite"))]
    random = Random(words)
    for _ in range(4):
        shutil.rmtree(journal.folder)
        shutil.copytree(good, journal.folder)
        broken = journal.folder / random.choice([FILE, *files])
        broken.write_bytes(damaged(broken.read_bytes(), random))
        outcome = journal.command(words)
        assert outcome.code in (0, 1, 2), outcome.err
        assert "Merrow failed" not in outcome.err, (words, outcome.err)
        assert "codec can't" not in outcome.err, (words, outcome.err)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_message_of_sqlite_that_is_no_text_names_the_file_and_what_to_do(journal: Journal, words: str) -> None:
    """SQLite quotes the name of a table that it can't read, and Python can't decode that."""
    data = journal.file.read_bytes()
    assert b"CREATE TABLE runs" in data
    journal.file.write_bytes(data.replace(b"CREATE TABLE runs", b"CREAT\xff TABLE run\xff"))
    outcome = journal.command(words)
    if words.startswith("costs"):
        assert outcome.code == 0
        return
    said = outcome.out if words == "doctor" else outcome.err
    assert outcome.code == (1 if words == "doctor" else 2)
    assert "damaged" in said
    assert str(journal.file) in " ".join(said.split())
    assert "move it away" in said


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as made:
        yield made


def moved(journal: Journal, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(journal.folder, disk / "state")
    journal.folder = disk / "state"
    monkeypatch.setenv(STATE_VARIABLE, str(journal.folder))


def test_a_full_disk_is_named_by_each_command_that_writes_and_the_others_read(
    journal: Journal, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(journal, disk, monkeypatch)
    fill(disk)
    for words in READERS:
        assert (journal.command(words).code, words) == (0, words)
    for words in WRITERS:
        outcome = journal.command(words)
        assert (outcome.code, words) == (2, words)
        assert "full" in outcome.err, (words, outcome.err)
        assert str(journal.file) in outcome.err
    assert "full" in journal.command("doctor").out


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@pytest.mark.parametrize("with_log", [False, True])
def test_a_journal_on_a_read_only_file_system_is_read(
    journal: Journal, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_log: bool
) -> None:
    moved(journal, disk, monkeypatch)
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    before = {words: journal.command(words).out for words in ("runs --format json", "show RUN --format json")}
    if with_log:  # as a process leaves it that is killed: what it did last is in the log alone
        path = journal.folder / "killed.sqlite"
        shutil.copy(journal.file, path)
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA journal_mode = WAL")
            other.execute("UPDATE runs SET error = 'in the log'")
            other.commit()
            for suffix in ("", "-wal"):
                shutil.copy(f"{path}{suffix}", f"{journal.file}{suffix}")
    with read_only(disk):
        for words in READERS:
            assert (journal.command(words).code, words) == (0, words)
        if with_log:
            assert journal.command("runs --format json").json[0]["error"] == "in the log"
        else:
            assert {words: journal.command(words).out for words in before} == before
        for words in WRITERS:
            outcome = journal.command(words)
            assert (outcome.code, words) == (2, words)
            assert "Read-only file system" in outcome.err, (words, outcome.err)
        assert "Read-only file system" in journal.command("doctor").out
    assert not list(copies.iterdir())


def test_a_journal_of_an_older_version_is_read_where_it_can_not_be_changed(
    journal: Journal, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(journal, disk, monkeypatch)
    fixtures = Path(__file__).parents[1] / "runtime" / "store" / "fixtures"
    journal.file.unlink()
    with closing(sqlite3.connect(journal.file)) as database:
        database.executescript((fixtures / "format4.sql").read_text(encoding="utf-8"))
    before = journal.file.read_bytes()
    with read_only(disk):
        outcome = journal.command("runs --format json")
        assert outcome.code == 0, outcome.err
        assert len(outcome.json) == 5
    assert journal.file.read_bytes() == before


def test_an_editor_reads_a_journal_on_a_read_only_file_system(
    journal: Journal, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(journal, disk, monkeypatch)
    with read_only(disk):
        editor = Editor(MODERN, tmp_path)
        try:
            assert [one["run"] for one in editor.request("merrow/runs", {})] == [journal.run]
            assert editor.request("merrow/show", {"run": journal.run})["run"] == journal.run
            both = {"a": journal.run, "b": journal.run}
            assert editor.request("merrow/compareRuns", both)
            assert [one["evaluation"] for one in command(editor, "merrow.evaluations")] == [journal.evaluation]
            shown = command(editor, "merrow.showEvaluation", id=journal.evaluation)
            assert (shown["evaluation"], len(shown["rows"])) == (journal.evaluation, 1)
            assert command(editor, "merrow.optimizations") == []
            with pytest.raises(ServerError, match="Read-only file system"):
                command(editor, "merrow.deleteEvaluation", id=journal.evaluation)
            with pytest.raises(ServerError, match="Read-only file system"):
                editor.request("merrow/deleteRun", {"run": journal.run})
        finally:
            editor.close()


def command(editor: Editor, name: str, **arguments: Any) -> Any:
    return editor.request("workspace/executeCommand", {"command": name, "arguments": [arguments]})


def test_what_only_reads_writes_nothing(journal: Journal, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved(journal, disk, monkeypatch)
    with read_only(disk), closing(Store.open(reading=True)) as store:
        assert store.refused is not None
        with pytest.raises(StoreFailure, match="Read-only"):
            store.delete(journal.run)
        assert [run.id for run in store.runs()] == [journal.run]
