"""Options that withhold results on purpose, to see how a workflow takes it."""

from __future__ import annotations

import click

from merrow_server.cli.given import shell_completion

MASK_OPTIONS = (
    click.option(
        "--mask",
        type=click.FloatRange(0, 1),
        metavar="RATE",
        help="Pass results on as `none` with this probability, drawn by --seed.",
    ),
    click.option(
        "--mask-only",
        multiple=True,
        metavar="NODE",
        shell_complete=shell_completion.nodes,
        help="Mask this node, and no other.",
    ),
    click.option(
        "--mask-every", is_flag=True, help="Also mask results that a revision made again, not only first results."
    ),
)
