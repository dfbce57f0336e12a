"""A journal on another machine is reached with TLS: whose certificate isn't that of its authority, or of its host, is refused.

The name of the host is real for TLS, and its address is that of this machine.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.certificates import certificates
from tests.postgres import PostgresServer, server
from tests.server.program import GOOD, merrow, write
from tests.server.test_team_journal import person

pytestmark = pytest.mark.slow
HOST = "db.example.org"


class Secured:
    """A server with a certificate of an authority; ``ca`` is the file with that."""

    def __init__(self, database: PostgresServer, folder: Path) -> None:
        self._database, self._folder = database, folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.ca = self.start("own", HOST)

    def start(self, name: str, host: str) -> Path:
        """Start it again with a new certificate of a new authority, which is returned."""
        files = certificates(self._folder / name, host)
        for part in ("cert", "key"):
            copy = self._database.folder / f"{name}-{part}.pem"
            shutil.copy(files[part], copy)
            copy.chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(copy, "postgres", "postgres")
        self._database.stop()
        self._database.start(
            f"-c listen_addresses=127.0.0.1 -c port={self.port} -c ssl=on",
            *(f"-c ssl_{part}_file={self._database.folder}/{name}-{part}.pem" for part in ("cert", "key")),
        )
        return files["ca"]

    def url(self, ca: Path | None = None, mode: str = "verify-full") -> str:
        options = f"&sslmode={mode}" if mode else ""
        options += "" if ca is None else f"&sslrootcert={quote(str(ca), safe='')}"
        return f"postgresql://merrow@{HOST}:{self.port}/postgres?hostaddr=127.0.0.1{options}"


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Secured]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MERROW_INSECURE_STORE", raising=False)
    with server() as database:
        yield Secured(database, tmp_path)


def test_only_the_server_that_proves_who_it_is_gets_a_connection(secured: Secured, tmp_path: Path) -> None:
    write("flow.mmd", GOOD)
    run = ("run", "flow.mmd", "--input", "problem=x")
    ran = merrow(*run, env=person("ann", secured.url(secured.ca)))
    assert ran.code == 0, ran.err
    others = certificates(tmp_path / "others", HOST)["ca"]
    for url in (secured.url(others), secured.url()):
        refused = merrow(*run, env=person("ann", url))
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
        assert (
            f"The journal at postgresql://merrow@{HOST}:{secured.port}/postgres does not prove who it is" in refused.err
        )
        assert "sslrootcert=FILE" in refused.err
    elsewhere = secured.start("elsewhere", "another.example.org")
    refused = merrow(*run, env=person("ann", secured.url(elsewhere)))
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert "does not prove who it is" in refused.err


def test_without_it_only_who_says_so_is_connected(secured: Secured) -> None:
    for mode in ("", "require", "verify-ca"):
        env = person("ann", secured.url(mode=mode))
        refused = merrow("journal", "info", env=env)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
        assert f"The journal at {HOST} is on another machine: add ?sslmode=verify-full" in refused.err
    write("flow.mmd", GOOD)
    env = person("ann", secured.url(mode=""))
    ran = merrow("run", "flow.mmd", "--input", "problem=x", "--insecure-store", env=env)
    assert ran.code == 0, ran.err
    assert len(merrow("runs", "--format", "json", "--insecure-store", env=env).json) == 1
