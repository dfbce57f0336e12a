"""A workspace with a server of tools, and what it did."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.tools.mailer import TOOLS

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned

MAILER = Path(__file__).with_name("mailer.py")
CLASS = "    classDef Interface fill:#eee\n"
ONE = (
    """---
workflow:
  tools: [mail.send]
---
flowchart TD
    PROBLEM([To]):::Interface
    BODY([Body]):::Interface
    RETURN([Result]):::Interface
    SEND[["Tool<br/>(tool: mail.send, with: 'copies: 3')"]]
    PROBLEM -->|to| SEND
    BODY -->|body| SEND
    SEND --> RETURN
"""
    + CLASS
)
ROW = (
    """---
workflow:
  tools: [mail.send, mail.count]
---
flowchart TD
    PROBLEM([To]):::Interface
    RETURN([Result]):::Interface
    ONE[["Tool<br/>(tool: mail.send, with: 'body: slow 1')"]]
    COUNT[["Tool<br/>(tool: mail.count)"]]
    TWO[["Tool<br/>(tool: mail.send, with: 'body: slow 2')"]]
    THREE[["Tool<br/>(tool: mail.send, with: 'body: slow 3')"]]
    PROBLEM -->|to| ONE
    ONE -->|text| COUNT
    COUNT -->|first:to| TWO
    TWO -->|to| THREE
    THREE --> RETURN
"""
    + CLASS
)


class Workspace:
    """A folder with pins and workflows, and the user's settings beside it."""

    def __init__(self, folder: Path, config: Path) -> None:
        self.folder, self.log, self._config = folder, folder / "mails", config
        self.settings("allow = true")
        self.pin()

    def pin(self, **said: str) -> None:
        """Pin the tools of the server as they are, but for what is ``said`` of each."""
        pins = NO_PINS.with_tools([pinned("mail", {**tool, **said}) for tool in TOOLS])
        (self.folder / PINS_FILE).write_text(pins.text())

    def settings(self, *lines: str, program: str = sys.executable) -> None:
        """Write the user's settings, with these lines about the server."""
        self._config.mkdir(exist_ok=True, parents=True)
        command = json.dumps([program, str(MAILER), str(self.log)])
        (self._config / "config.toml").write_text("\n".join(("[servers.mail]", f"command = {command}", *lines, "")))

    def write(self, text: str, name: str = "flow.mmd") -> Path:
        file = self.folder / name
        file.write_text(text)
        return file

    @property
    def starts(self) -> int:
        """How often the server was started."""
        started = self.log.with_suffix(".starts")
        return len(started.read_text().splitlines()) if started.exists() else 0

    @property
    def mails(self) -> list[dict[str, Any]]:
        """What was sent, in its order."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
