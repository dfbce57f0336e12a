"""``merrow.templates`` ``{name?, file?}``: the patterns that a new workflow can start from.

It answers them as ``merrow new --list --format json`` does, in that order; with ``name`` that one alone, with its ``text`` as it
is in a file called ``file`` (by default, ``NAME.mmd``), and in ``needs`` what has to be added before it can run, in sentences.
"""

from __future__ import annotations

from typing import Any

from merrow_server.features.commands.job_commands import fields_of, text
from merrow_server.features.commands.run_commands import asked_of
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer

TEMPLATES = "merrow.templates"


def register(server: MerrowServer) -> None:
    server.command(TEMPLATES)(told)


def told(_: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]]:
    """All patterns, or one with its text."""
    from merrow_server.templates import templates

    asked = fields_of(asked_of(arguments) if arguments else {}, {"name": text(), "file": text()})
    known = templates()
    if "name" not in asked:
        return [template.listed() for template in known.values()]
    template = known.get(asked["name"])
    if template is None:
        raise InvalidParameters(f"`name` must be one of {', '.join(known)}.")
    file = asked.get("file", f"{template.name}.mmd")
    return [{**template.listed(), "text": template.as_file(file), "needs": template.needs()}]
