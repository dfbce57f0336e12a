"""A cluster with TLS, started as the documentation says, with certificates that the test makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.certificates import certificates
from tests.server.program import merrow
from tests.server.workers.cluster import OWN, Cluster, Shared

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX"),
    pytest.mark.parametrize("team", ["file"], indirect=True),
]


def of_client(files: dict[str, Path]) -> dict[str, str]:
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    return {
        f"{tls}CA_FILE": str(files["ca"]),
        f"{tls}CLIENT__CERT": str(files["cert"]),
        f"{tls}CLIENT__KEY": str(files["key"]),
    }


@pytest.mark.slow
def test_with_certificates_it_works_and_without_or_with_others_it_does_not(
    at: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, others = certificates(tmp_path / "own"), certificates(tmp_path / "others")
    more = ["--tls-ca-file", str(files["ca"]), "--tls-cert", str(files["cert"]), "--tls-key", str(files["key"])]
    made = Cluster(tmp_path / "cluster", environment=at.variables, more=more, protocol="tls")
    made.folder.mkdir()
    try:
        made.scheduler("--protocol", "tls")
        made.worker()
        own = ("evaluate", "flow.mmd", *OWN, "--fresh", "--engine", "dask", "--scheduler", made.address)
        assert made.address.startswith("tls://")
        for name, value in of_client(files).items():
            monkeypatch.setenv(name, value)
        done = merrow(*own)
        assert done.code == 0, done.err
        assert len(at.server.requests) == 120
        plain = merrow(*own[:-1], made.address.replace("tls://", "tcp://"))
        assert plain.code == 2
        assert "No Dask scheduler answers at tcp://" in plain.err
        for name, value in of_client(others).items():
            monkeypatch.setenv(name, value)
        refused = merrow(*own)
        assert refused.code == 2
        assert f"No Dask scheduler answers at {made.address} within 10 seconds" in refused.err
        for name in of_client(others):
            monkeypatch.delenv(name)
        without = merrow(*own)
        assert without.code == 2
        assert without.err.count("\n") == 1, without.err
        assert len(at.server.requests) == 120
    finally:
        made.end()
