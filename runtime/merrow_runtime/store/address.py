"""Where the journal is that the user chose: a database that a team shares, or else the file of this machine."""

from __future__ import annotations

import getpass
import importlib
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from merrow_runtime.errors import UsageFailure
from merrow_runtime.settings_place import settings_path

VARIABLE = "MERROW_JOURNAL"
"""The environment variable with the URL; it goes before the user's settings."""
INSECURE_VARIABLE = "MERROW_INSECURE_STORE"
"""Set by ``--insecure-store``, so that processes that are started know it, too."""
SCHEMA = "merrow"
_SCHEMES = ("postgresql", "postgres")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SAFE = ("verify-full",)


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A PostgreSQL database by its URL, which has no password (see `read_address`), and the schema in it."""

    url: str
    schema: str

    @property
    def shown(self) -> str:
        """As a person may see it: without what follows the database's name."""
        return self.url.partition("?")[0]


def is_address(text: str) -> bool:
    """Whether a text names a database, as opposed to a file."""
    return text.strip().startswith(tuple(f"{scheme}:" for scheme in _SCHEMES))


def read_address(text: str, *, insecure: bool = False) -> StoreAddress:
    """What ``postgresql://[user@]host[:port]/database[?options]`` says. Beside the options of libpq, ``schema`` names the
    schema, if it is not `SCHEMA`. Raises `UsageFailure`, which never repeats a password: for one in the URL, and for a
    connection to another machine that is not encrypted and checked, unless ``insecure``.
    """
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise UsageFailure("The URL of the journal can't be read: write postgresql://user@host:5432/database") from None
    if parts.scheme not in _SCHEMES or parts.fragment:
        raise UsageFailure(
            "The URL of the journal begins with postgresql://, as in postgresql://user@host:5432/database"
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password is not None or "password" in options:
        raise UsageFailure(
            "The URL of the journal has a password: keep it in a file that PGPASSFILE names, or in PGPASSWORD, and write"
            " postgresql://user@host:5432/database"
        )
    schema = options.pop("schema", SCHEMA)
    if _SCHEMA_NAME.fullmatch(schema) is None:
        raise UsageFailure(f"A schema can't be called {schema!r}: write small letters, digits and _.")
    hosts = [parts.hostname or "", *options.get("host", "").split(","), options.get("hostaddr", "")]
    if not insecure and any(map(_is_elsewhere, hosts)) and options.get("sslmode") not in _SAFE:
        raise UsageFailure(
            f"The journal at {parts.hostname or options.get('host')} is on another machine: add ?sslmode=verify-full to its URL,"
            " with sslrootcert=FILE for a certificate of your own, or say --insecure-store to send everything unencrypted"
        )
    where = f"{quote(unquote(parts.username))}@" if parts.username else ""
    host = parts.hostname or ""
    where += f"[{host}]" if ":" in host else host
    where += f":{port}" if port else ""
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return StoreAddress(f"postgresql://{where}{parts.path}{query}", schema)


def configured(environment: Mapping[str, str] = os.environ) -> StoreAddress | None:
    """The database that ``MERROW_JOURNAL`` or the user's settings name; None for the file. Raises `UsageFailure`."""
    text = environment.get(VARIABLE, "").strip()
    if not text:
        path = settings_path(environment)
        if not path.exists():
            return None
        from merrow_runtime.models.user_settings import read_user_settings

        text = read_user_settings(path).journal.url or ""
    if not text:
        return None
    return read_address(text, insecure=bool(environment.get(INSECURE_VARIABLE)))


def shared(module: str, name: str) -> Any:
    """A class that works on a database, of a module of Merrow: these need the extra ``merrow[postgres]``, and are read where one
    is configured. Raises `UsageFailure` where it is not installed.
    """
    try:
        return getattr(importlib.import_module(f"merrow_runtime.{module}"), name)
    except ImportError as missing:
        if missing.name is not None and missing.name.startswith("merrow"):
            raise
        raise UsageFailure(
            "A journal in PostgreSQL needs the package psycopg: pip install 'merrow[postgres]'", remedy="packages"
        ) from None


def author() -> str:
    """Who this user is in a journal that several share: the name that the operating system knows them by."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _is_elsewhere(host: str) -> bool:
    """Whether a host is another machine; an empty one and a folder with a socket are this one."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
