"""Starting the language server: the imports that it needs for its first answer, and nothing before they are needed."""

from __future__ import annotations

from pathlib import Path

from merrow_server import features
from merrow_server.lsp.logs import start_logging
from merrow_server.lsp.memory import quiet_collections
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.transport import run_stdio, run_tcp


def make_server() -> MerrowServer:
    """A server with every feature, not yet connected."""
    server = MerrowServer()
    features.register_all(server)
    return server


def serve(*, port: int | None = None, log_file: Path | None = None) -> int:
    """Serve one client, on standard input and output or on a port; the exit code. Raises OSError where that can't be."""
    server = make_server()
    start_logging(server.log, log_file)
    quiet_collections()
    try:
        return run_stdio(server) if port is None else run_tcp(server, port)
    finally:
        server.jobs.end()
