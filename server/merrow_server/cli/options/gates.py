"""Options that ``merrow evaluate`` and ``merrow resume`` share: what an evaluation must reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli.given import shell_completion
from merrow_server.errors import InputError

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.gates import Gates

_SHARE = click.FloatRange(0, 1)


def _least(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> list[tuple[str, float]]:
    """Shares, each behind the name of a field where it is asked of one: ``0.8``, ``category=0.9``."""
    shares = []
    for each in given:
        field, _, text = each.rpartition("=")
        share: Any = _SHARE.convert(text, param, ctx)  # type: ignore[arg-type]
        shares.append((field.strip(), float(share)))
    return shares


_NAMES = ("max_drop", "fail_if_worse", "allow_errors", "allow_exhausted")

GATE_OPTIONS = (
    click.option(
        "--fail-under",
        multiple=True,
        callback=_least,
        metavar="[OUTPUT=]X",
        help="Exit with 1 where the score, or that of a field of the output, is lower.",
    ),
    click.option(
        "--fail-under-lower",
        multiple=True,
        callback=_least,
        metavar="[OUTPUT=]X",
        help="Exit with 1 where the lower end of its interval is lower.",
    ),
    click.option(
        "--baseline",
        metavar="EVAL",
        shell_complete=shell_completion.evaluations,
        help="The evaluation that --max-drop and --fail-if-worse compare with.",
    ),
    click.option("--max-drop", type=_SHARE, metavar="X", help="Exit with 1 where the score is lower by more than X."),
    click.option("--fail-if-worse", is_flag=True, help="Exit with 1 where it is worse, one-sided p < .05."),
    click.option(
        "--allow-errors",
        type=click.IntRange(min=0),
        metavar="N",
        help="Exit with 1 where more than N items are unanswered or invalid; 0 by default with any other gate.",
    ),
    click.option(
        "--allow-exhausted",
        type=click.IntRange(min=0),
        metavar="N",
        help="Exit with 1 where more than N answers come from Loops whose turns or budget ran out.",
    ),
)


def check_gates(given: dict[str, Any]) -> None:
    """Raise `InputError` where gates lack what they compare with, or one asks two things."""
    for option in ("fail_under", "fail_under_lower"):
        names = [name for name, _ in given[option]]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"--{option.replace('_', '-')}{f' {twice}' if twice else ''} is given twice.")
    if given["baseline"] is None and (given["max_drop"] is not None or given["fail_if_worse"]):
        raise InputError("--max-drop and --fail-if-worse compare with --baseline EVAL.")


def gates_of(given: dict[str, Any]) -> Gates:
    """The gates that `GATE_OPTIONS` say."""
    from merrow_optimizer.evaluation.gates import Gates

    under, lower = dict(given["fail_under"]), dict(given["fail_under_lower"])
    return Gates(
        under.pop("", None),
        lower.pop("", None),
        **{name: given[name] for name in _NAMES},
        fields_under=under,
        fields_under_lower=lower,
    )


def any_gate(given: dict[str, Any]) -> bool:
    """Whether any of `GATE_OPTIONS` is given."""
    return given["baseline"] is not None or any(
        given[name] not in (None, False, []) for name in (*_NAMES, "fail_under", "fail_under_lower")
    )
