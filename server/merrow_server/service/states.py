"""What a client of the Model Context Protocol hands back while its user answers: the id of the run, sealed by the service.

The key outlives the process, so that a person may take days and the service be started again meanwhile. It is in the user's state
folder, readable by the user alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.location import STATE_VARIABLE, state_folder

FILE = "up.key"
"""The name of the key's file in the state folder."""
_BYTES = 32
_LONGEST = 1_000


class RunStates:
    """Seals the ids of runs of the workflow with this name. Raises `StoreFailure` where the key can't be read or made."""

    def __init__(self, workflow: str) -> None:
        self._workflow, self._key = workflow, _kept_key(state_folder() / FILE)

    def sealed(self, run: str) -> str:
        """The state that stands for a run."""
        return f"{run}.{self._seal(run)}"

    def run(self, state: str) -> str | None:
        """The run that a state stands for; None where this service has not sealed it."""
        run, _, seal = state.rpartition(".")
        fits = len(state) <= _LONGEST and hmac.compare_digest(
            self._seal(run).encode(), seal.encode("utf-8", "surrogatepass")
        )
        return run if fits else None

    def _seal(self, run: str) -> str:
        text = f"{self._workflow}\0{run}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()


def _kept_key(path: Path) -> bytes:
    """The key in a file, made where there is none. Of processes that make it at the same time, the first one's counts."""
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            mine = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
            with os.fdopen(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_BYTES))
            try:
                with contextlib.suppress(FileExistsError):
                    os.link(mine, path)
            finally:
                mine.unlink()
        key = path.read_bytes()
    except OSError as problem:
        raise StoreFailure(
            f"The key {path} can't be read or made ({problem.strerror}); set {STATE_VARIABLE} to a folder that you can write."
        ) from problem
    if len(key) != _BYTES:
        raise StoreFailure(f"The key {path} is damaged. Remove it, and the next start makes another one.")
    return key
