"""A store that leaves nothing behind, for private inputs (``--no-store``)."""

from __future__ import annotations

from merrow_runtime.store.database import Store
from merrow_runtime.store.opening import connect
from merrow_runtime.store.writer import Writer


class MemoryStore(Store):
    """The journal of one process, in its memory: calls are still never made twice, and all is gone with it."""

    def __init__(self) -> None:
        super().__init__(Writer(connect(":memory:"), None))
