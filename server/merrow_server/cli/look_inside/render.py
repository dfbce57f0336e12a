"""``merrow render``: a picture of a flowchart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from merrow_server.cli import Command
from merrow_server.cli.options.common import diagram_argument
from merrow_server.rendering.terminal import echo

if TYPE_CHECKING:
    from merrow_server.drawing.picture import Kind, Theme

KINDS: dict[str, Kind] = {".svg": "svg", ".png": "png"}


@click.command(
    "render",
    cls=Command,
    epilog="""
    merrow render flow.mmd -o flow.svg
    merrow render README.md#2 -o second.png --theme dark
    """,
)
@diagram_argument
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the image to this file: .svg or .png.")
@click.option(
    "--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True, help="Colors of the image."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Stop drawing after this many seconds.",
)
def command(file: str, output: str, theme: str, timeout: float) -> None:
    """Draw the flowchart in FILE as an SVG or a PNG.

    Mermaid draws it in a headless Chromium, Chrome or Edge: the program that MERROW_BROWSER names, or the
    first one found. The browser has no access to the network.
    """
    kind = KINDS.get(Path(output).suffix.lower())
    if kind is None:
        raise click.UsageError(f"{output} ends neither in .svg nor in .png; give the image a name that does.")
    from merrow_server.drawing.picture import draw
    from merrow_server.errors import InputError
    from merrow_server.files import write_bytes
    from merrow_server.opening import open_diagram

    opened = open_diagram(file, None, use_files=False)
    if not opened.analysis.diagram.is_flowchart:
        raise InputError(f"{opened.target.name} is not a flowchart, and merrow render draws only flowcharts.")
    if opened.analysis.refusals:
        problem = opened.analysis.refusals[0]
        line = opened.in_file(problem.range).start.line + 1
        raise InputError(f"{opened.target.name} can't be drawn. Line {line}: {problem.message}")
    text = opened.text if opened.fence is None else opened.fence.text
    write_bytes(Path(output), draw(text, kind, cast("Theme", theme), timeout))
    echo(f"{output} is written.")
