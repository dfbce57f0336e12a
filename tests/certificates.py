"""Certificates that tests make for themselves."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificates(folder: Path, host: str = "dask") -> dict[str, Path]:
    """A certificate authority (``ca``), and a certificate of it for a ``host`` (``cert``) with its ``key``, as files of PEM."""
    folder.mkdir(parents=True)
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])

    def made(
        key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
    ) -> x509.Certificate:
        subject = name if is_authority else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.DNSName("tests" if is_authority else host)]), critical=False
            )
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
