"""The data sets that are known by name: in which form they are, where they come from, under which licence, with which hash."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from merrow_optimizer.evaluation.data.names import shipped_file
from merrow_optimizer.evaluation.data.parts import part_in_name
from merrow_optimizer.evaluation.data.readers import OWN, READERS, reader_in_name
from merrow_optimizer.evaluation.data.settings import settings_beside

State = Literal["ok", "other", "missing"]
"""A file that is the published one, one with other contents, or none."""


@dataclass(frozen=True, slots=True)
class KnownSet:
    """A data set that is known by ``name``.

    ``form`` is the reader of its records, ``own`` for those that a TOML file beside them describes. ``source`` says where it
    is from and ``get`` has the command that gets it from there, both "" for a set that comes with Merrow. ``sha256`` is None
    where the published file is not at its source, and ``remark`` says so. ``beside`` names a set that is needed with this one.
    """

    name: str
    file: str
    form: str
    part: str
    metric: str | None
    records: int
    licence: str
    authors: str
    source: str
    get: str
    sha256: str | None
    beside: str | None = None
    remark: str = ""

    @property
    def is_shipped(self) -> bool:
        """Whether it comes with Merrow."""
        return not self.get

    def place(self, folder: Path) -> Path:
        """Where its file is, or would be: ``folder`` has those that don't come with Merrow."""
        return shipped_file(self.name) if self.is_shipped else folder / self.file

    def state(self, folder: Path) -> State:
        """Whether its file is in ``folder``, and is the published one. One whose published file is not known is ``other``."""
        file = self.place(folder)
        if not file.is_file():
            return "missing"
        return "ok" if self.is_shipped or (self.sha256 is not None and hash_of_file(file) == self.sha256) else "other"

    def to_json(self) -> dict[str, Any]:
        """As ``merrow datasets --format json`` prints it."""
        return {
            "name": self.name,
            "file": self.file,
            "form": self.form,
            "part": self.part,
            "metric": self.metric,
            "records": self.records,
            "licence": self.licence,
            "authors": self.authors,
            "source": self.source,
            "get": self.get or None,
            "sha256": self.sha256,
            "beside": self.beside,
            "remark": self.remark or None,
            "shipped": self.is_shipped,
        }


@cache
def known_sets() -> Mapping[str, KnownSet]:
    """All of them, by name."""
    read = tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8"))
    sources = read["sources"]
    return {entry["name"]: _set(entry, sources[entry["source"]]) for entry in read["set"]}


def _set(entry: Mapping[str, Any], source: Mapping[str, str]) -> KnownSet:
    name, file = entry["name"], Path(entry["file"])
    form = entry.get("form") or reader_in_name(file) or OWN
    about = {
        "name": name,
        "file": entry["file"],
        "form": form,
        "part": part_in_name(file) or "all" if form in READERS else "all",
        "licence": entry["licence"],
        "authors": entry["authors"],
        "source": source["from"],
        "get": source["get"],
        "beside": entry.get("beside"),
        "remark": entry.get("missing", ""),
    }
    if source["get"]:
        metric = READERS[form].metric if form in READERS else None
        return KnownSet(**about, metric=metric, records=entry["records"], sha256=entry.get("sha256"))
    own = shipped_file(name)
    records = len(own.read_text(encoding="utf-8").splitlines())
    return KnownSet(**about, metric=settings_beside(own).metric, records=records, sha256=hash_of_file(own))


def hash_of_file(file: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal. Raises `OSError`."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
