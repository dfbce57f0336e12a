"""A build hook: wheel and sdist get the copy of Mermaid that the extension was built with.

Where the extension was not built there is none, and ``merrow render`` says so in a sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = "vscode-extension/dist/webview/engine.js"
LICENCES = "vscode-extension/dist/LICENCES.txt"


class PackEngine(BuildHookInterface[Any]):
    """Includes the drawing engine and the licences of what is in it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; an editable installation reads them where they are."""
        if version == "editable" or not all((Path(self.root) / name).is_file() for name in (ENGINE, LICENCES)):
            return
        packed = "merrow_server/drawing" if self.target_name == "wheel" else "vscode-extension/dist"
        engine = "engine.js" if self.target_name == "wheel" else "webview/engine.js"
        build_data["force_include"] |= {ENGINE: f"{packed}/{engine}", LICENCES: f"{packed}/LICENCES.txt"}
