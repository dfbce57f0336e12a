"""The server's log: to the client, and to a file where one is named. It never holds what documents say.

Of a failure the log tells where it happened and of what type it is; the failure's own words may quote a document.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from types import TracebackType

from lsprotocol import types

from merrow_server.lsp.host import Host
from merrow_server.rendering.snippet import plain

ROOT = "merrow_server"
LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
_MESSAGE_TYPES = (
    (logging.ERROR, types.MessageType.Error),
    (logging.WARNING, types.MessageType.Warning),
    (logging.INFO, types.MessageType.Info),
)
_FILE_SIZE, _FILES = 1_000_000, 3

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Formatter(logging.Formatter):
    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - the name is that of logging
        kind, _, trace = ei
        if kind is None:
            return ""
        return "".join(traceback.format_tb(trace)) + f"{kind.__module__}.{kind.__qualname__}"


class ClientLog(logging.Handler):
    """Sends records to the client as ``window/logMessage``."""

    def __init__(self, client: Host) -> None:
        super().__init__(logging.INFO)
        self._client = client
        self.setFormatter(_Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if not self._client.is_initialized:
            return
        try:
            kind = next((kind for level, kind in _MESSAGE_TYPES if record.levelno >= level), types.MessageType.Log)
            self._client.window_log_message(types.LogMessageParams(kind, plain(self.format(record))))
        except Exception:  # noqa: BLE001 - a log must not fail its user
            self.handleError(record)


def start_logging(client: logging.Handler, file: Path | None = None) -> None:
    """Log to the client, and to ``file`` (which rotates) if there is one. Raises OSError where it can't be opened."""
    logger = logging.getLogger(ROOT)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(client)
    # pygls logs messages whole, with the documents in them.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    if file is not None:
        from logging.handlers import RotatingFileHandler

        handler = RotatingFileHandler(
            file, maxBytes=_FILE_SIZE, backupCount=_FILES, encoding="utf-8", errors="backslashreplace"
        )
        handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)
        logging.getLogger("asyncio").addHandler(handler)


def set_level(client: logging.Handler, level: str) -> None:
    """Log from this level on; a key of `LEVELS`."""
    logging.getLogger(ROOT).setLevel(LEVELS[level])
    client.setLevel(LEVELS[level])
