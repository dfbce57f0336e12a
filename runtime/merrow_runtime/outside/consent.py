"""What the user has agreed to start: the hashes of whole definitions, kept in the user's state folder and in no workspace."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.store.location import state_folder

FILE = "trusted.json"
_LARGEST = 4_000_000
_VERSION = 1


class ConsentFailure(UsageFailure):
    """Something is not done before the user agrees to it. ``situation`` says to what, ``question`` asks for it, ``button`` is the
    answer of those who agree, and ``workspace`` is where their consent holds.
    """

    situation: str
    question: str
    button: str
    workspace: str

    def is_given(self) -> bool:
        """Whether the user has agreed meanwhile."""
        raise NotImplementedError

    def agree(self) -> None:
        """Keep that the user agrees. Raises `InputError`."""
        raise NotImplementedError


class Consents:
    """The definitions that the user trusts, by their SHA-256. Each has the name and the workspace for which it was trusted, and
    nothing of the definition itself. A file that can't be read has none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or state_folder() / FILE
        self._trusted = _read(self.path)

    def has(self, digest: str) -> bool:
        """Whether the definition with this hash is trusted."""
        return digest in self._trusted

    def add(self, digest: str, name: str, workspace: str) -> None:
        """Trust a definition. Raises `InputError` where that can't be kept."""
        self._trusted[digest] = {"name": name, "workspace": workspace}
        self._write()

    def remove(self, name: str, workspace: str) -> int:
        """Trust no definition any more that was trusted under this name in a workspace; how many there were."""
        gone = [
            digest
            for digest, entry in self._trusted.items()
            if (entry.get("name"), entry.get("workspace")) == (name, workspace)
        ]
        for digest in gone:
            del self._trusted[digest]
        if gone:
            self._write()
        return len(gone)

    def _write(self) -> None:
        text = json.dumps({"version": _VERSION, "trusted": self._trusted}, indent=2)
        temporary: str | None = None
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Readable by the user alone, and never half a file.
            handle, temporary = tempfile.mkstemp(prefix=f".{FILE}.", dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(temporary).replace(self.path)
        except OSError as problem:
            raise InputError(f"{self.path} can't be written: {problem.strerror}.") from None
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    trusted = read.get("trusted") if isinstance(read, dict) else None
    if not isinstance(trusted, dict) or read.get("version") != _VERSION:
        return {}
    return {digest: entry for digest, entry in trusted.items() if isinstance(entry, dict)}
