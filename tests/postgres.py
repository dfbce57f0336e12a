"""A real PostgreSQL server of the tests' own: one for a session of pytest, on a socket, and a schema for each test."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

NOT_INSTALLED = "PostgreSQL is not installed: the journal of a team (Debian: apt-get install postgresql)"
IN_A_FILE = pytest.mark.skipif(
    bool(os.environ.get("MERROW_TEST_POSTGRES")), reason="it needs a journal in a file, and MERROW_TEST_POSTGRES is set"
)
"""For tests that look into the files of a journal, or have several of them."""
_USER = "merrow"


def programs() -> Path | None:
    """The folder with the server's programs, of the newest version; None where there are none."""
    on_path = shutil.which("pg_ctl")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    return None if on_path is None else Path(on_path).resolve().parent


@dataclass
class PostgresServer:
    """A server at work, with its data in ``folder``."""

    folder: Path
    bin: Path
    port: int = 5432
    _schemas: Iterator[str] = field(default_factory=lambda: (f"s{number}" for number in count()))

    def url(self, schema: str | None = None, user: str = _USER, **options: str) -> str:
        """The journal in a schema, None for one of its own."""
        schema = next(self._schemas) if schema is None else schema
        more = "".join(f"&{name}={quote(value, safe='')}" for name, value in options.items())
        return f"postgresql://{user}@/postgres?host={quote(str(self.folder), safe='')}&schema={schema}{more}"

    def start(self, *settings: str) -> None:
        """Start it, and wait until it answers."""
        given = [
            f"-k {self.folder} -c listen_addresses= -c fsync=off -c full_page_writes=off -c shared_buffers=32MB",
            "-c max_connections=60 -c dynamic_shared_memory_type=mmap -c autovacuum=off -c wal_level=minimal",
            "-c max_wal_senders=0 -c timezone=UTC",
            *settings,
        ]
        self._run(
            "pg_ctl",
            "-D",
            str(self.folder / "data"),
            "-w",
            "-l",
            str(self.folder / "log"),
            "-o",
            " ".join(given),
            "start",
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; ``immediate`` as a crash does."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")

    def freeze(self) -> None:
        """Let it keep its sockets and answer nothing, as a machine does that stands still."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().partition("\n")[0])
        os.kill(postmaster, number)  # before it can have more children
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], check=True, capture_output=True, text=True).stdout
        for pid, parent in (line.split() for line in listed.splitlines()):
            if int(parent) == postmaster:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), number)

    def make(self, *options: str) -> None:
        """Make an empty database cluster, with options of ``initdb``."""
        self._run(
            "initdb",
            "-D",
            str(self.folder / "data"),
            "-U",
            _USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            *options,
        )

    def sql(self, text: str) -> str:
        """What psql says of some SQL."""
        command = [
            "psql",
            "-h",
            str(self.folder),
            "-U",
            _USER,
            "-d",
            "postgres",
            "-v",
            "ON_ERROR_STOP=1",
            "-qAt",
            "-c",
            text,
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.bin / program), *arguments]
        # The server refuses to be run by root.
        user: dict[str, Any] = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        )
        done = subprocess.run(
            command,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            timeout=120,
            **user,
        )
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program}: {done.stderr}\n{log.read_text() if log.exists() else ''}")


def crashes(database: PostgresServer) -> Callable[[], None]:
    """Let it be away; what brings it back."""
    database.stop()
    return database.start


def freezes(database: PostgresServer) -> Callable[[], None]:
    """The same, with its sockets open."""
    database.freeze()
    return database.thaw


def started(found: Path, *options: str) -> PostgresServer:
    """A new server at work, made with options of ``initdb``; who starts it stops it, and removes its folder."""
    # A socket's path has 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix="merrow-pg-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))  # noqa: S108
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    made = PostgresServer(folder, found)
    made.make(*options)
    made.start()
    return made


@contextmanager
def server(*options: str) -> Iterator[PostgresServer]:
    """A server of a test's own, which may stop it, made with options of ``initdb``. Skips where PostgreSQL is not installed."""
    found = programs()
    if found is None:
        pytest.skip(NOT_INSTALLED)
    made = started(found, *options)
    try:
        yield made
    finally:
        with suppress(OSError):  # the test may have frozen it
            made.thaw()
        with suppress(RuntimeError):  # the test may have stopped it
            made.stop()
        shutil.rmtree(made.folder, ignore_errors=True)


@contextmanager
def shared_server(folder: Path) -> Iterator[PostgresServer]:
    """The server that all processes of a session use, which agree on it in a ``folder`` of theirs: the first one starts it,
    the last one stops it. Skips where PostgreSQL is not installed.
    """
    found = programs()
    if found is None:
        pytest.skip(NOT_INSTALLED)
    folder.mkdir(parents=True, exist_ok=True)
    noted = folder / "postgres"
    with _locked(folder):
        if noted.exists():
            place, users = noted.read_text().split("\n")
            made = PostgresServer(Path(place), found)
        else:
            made, users = started(found), "0"
        noted.write_text(f"{made.folder}\n{int(users) + 1}")
    made._schemas = (f"s{os.getpid()}_{number}" for number in count())  # of this process alone
    try:
        yield made
    finally:
        with _locked(folder):
            users = noted.read_text().split("\n")[1]
            noted.write_text(f"{made.folder}\n{int(users) - 1}")
            if int(users) == 1:
                noted.unlink()
                made.stop()
                shutil.rmtree(made.folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    import fcntl

    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
