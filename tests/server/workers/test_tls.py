"""A cluster with TLS, started as the documentation says, with certificates that the test makes."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.server.program import merrow
from tests.server.workers.cluster import OWN, Cluster, Shared

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX"),
    pytest.mark.parametrize("team", ["file"], indirect=True),
]


def certificates(folder: Path) -> dict[str, Path]:
    """A certificate authority, and a certificate of it with its key, as files of PEM."""
    folder.mkdir(parents=True)
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])

    def made(
        key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
    ) -> x509.Certificate:
        subject = name if is_authority else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dask")])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(by, hashes.SHA256())
        )

    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    files["ca"].write_bytes(made(authority, authority, is_authority=True).public_bytes(serialization.Encoding.PEM))
    files["cert"].write_bytes(made(own, authority, is_authority=False).public_bytes(serialization.Encoding.PEM))
    files["key"].write_bytes(
        own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


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
