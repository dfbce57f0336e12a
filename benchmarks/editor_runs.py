"""Hover while a workflow runs: ``python -m benchmarks.editor_runs`` prints how much longer it takes than in peace.

The run has some 200 nodes (layers of 10) that ask a model in the server's own process, the embedded one, again and again without
a pause, so that the run computes all the time: the worst that a run can do to those who type.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.client import LanguageClient

from benchmarks.runtime_shapes import layered

SHAPE = layered(20, 10)


class _Editor:
    def __init__(self, client: LanguageClient, uri: str) -> None:
        self._client = client
        self._uri = uri

    async def hover(self, line: int) -> float:
        """Seconds until the answer."""
        start = time.perf_counter()
        params = types.HoverParams(types.TextDocumentIdentifier(self._uri), types.Position(line, 5))
        await self._client.text_document_hover_async(params)
        return time.perf_counter() - start

    async def run(self) -> None:
        argument: dict[str, Any] = {"uri": self._uri, "inputs": {"PROBLEM": "Why?"}, "fresh": True}
        params = types.ExecuteCommandParams("merrow.run", [argument])
        answer: Any = await self._client.workspace_execute_command_async(params)
        if answer["status"] != "finished":
            raise SystemExit(f"A run is {answer['status']}: {answer}")


async def measure(hovers: int) -> tuple[list[float], list[float]]:
    """Seconds of hovers in peace, and while runs go on."""
    with tempfile.TemporaryDirectory() as folder:
        client = LanguageClient("benchmark", "1", converter_factory=get_converter)
        for ignored in ("merrow/runEvent", types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS):
            client.protocol.fm.add_builtin_feature(ignored, lambda _: None)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        environment |= {"MERROW_STATE_DIR": folder, "MERROW_CONFIG_DIR": folder}
        await client.start_io(sys.executable, "-m", "merrow_server", "serve", env=environment)
        capabilities = types.ClientCapabilities(experimental={"merrowRuns": True})
        await client.initialize_async(types.InitializeParams(capabilities))
        client.initialized(types.InitializedParams())
        uri = (Path(folder) / "flow.mmd").as_uri()
        text = SHAPE.text()
        item = types.TextDocumentItem(uri, "mermaid", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        editor = _Editor(client, uri)
        await editor.run()
        lines = [number for number, line in enumerate(text.splitlines()) if "@{" in line]
        peace = [await editor.hover(lines[number % len(lines)]) for number in range(hovers)]
        over = asyncio.Event()

        async def runs() -> None:
            while not over.is_set():
                await editor.run()

        running = asyncio.create_task(runs())
        await asyncio.sleep(0)
        busy = [await editor.hover(lines[number % len(lines)]) for number in range(hovers)]
        over.set()
        await running
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]  # pygls has no types here
        return peace, busy


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.editor_runs", description=__doc__.partition("\n")[0])
    options.add_argument("--hovers", type=int, default=400, help="hovers of each kind (default 400)")
    peace, busy = asyncio.run(measure(options.parse_args().hovers))
    for name, times in (("in peace", peace), (f"during a run of {SHAPE.nodes} nodes", busy)):
        ranked = sorted(times)
        median, most = 1000 * statistics.median(ranked), 1000 * ranked[len(ranked) * 95 // 100]
        print(f"{name}: median {median:.2f} ms, 95 % below {most:.2f} ms, longest {1000 * ranked[-1]:.2f} ms")
    print(f"ratio of the medians: {statistics.median(busy) / statistics.median(peace):.2f}")


if __name__ == "__main__":
    main()
