"""Options that ``merrow evaluate`` and ``merrow optimize`` share: data, metric, model, budget."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli.given import shell_completion

if TYPE_CHECKING:
    from merrow_server.evaluations.evaluation_request import EvaluationRequest

TOOL_OPTIONS = (
    click.option(
        "--tools",
        type=click.Choice(["live", "replay"]),
        default="live",
        show_default=True,
        help="Call tools, or use only results of earlier runs and call none.",
    ),
    click.option(
        "--fake-tools",
        metavar="F.py",
        shell_complete=shell_completion.files,
        help="Call the functions of this file, in the sandbox, in the place of tools.",
    ),
)
"""Where results of tools come from."""

DATA_OPTIONS = (
    click.option(
        "--dataset",
        metavar="F",
        shell_complete=shell_completion.datasets,
        help="The data: JSON Lines, a JSON array or CSV; or a set that comes with Merrow, such as `arithmetic` or `mails`.",
    ),
    click.option(
        "--recipes",
        metavar="FOLDER",
        help="For the environment textcraft: Minecraft's crafting recipes as JSON, in the place of Merrow's own.",
    ),
    click.option(
        "--reader", metavar="NAME", help="The format of the data; by default, it is guessed from the file name."
    ),
    click.option(
        "--map", "mapping", multiple=True, metavar="INPUT=FIELD", help="The field that an input of the workflow gets."
    ),
    click.option(
        "--answers",
        multiple=True,
        metavar="NODE=FIELD",
        help="The field with the answer to a node that asks a person (Human).",
    ),
    click.option(
        "--person",
        metavar="MODEL",
        help="Have this model answer in the place of people (Human). Results say SIMULATED PERSON.",
    ),
    *TOOL_OPTIONS,
    click.option(
        "--gold",
        "golds",
        multiple=True,
        metavar="[OUTPUT=]FIELD",
        help="The field with the right answer, or for each field of the output the one with its right value.",
    ),
    click.option("--part", metavar="PART", help="validate, test or all."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N items."),
    click.option("--items", multiple=True, metavar="IDS", help="Only these items, as id,id; @FILE has one a line."),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="[OUTPUT=]NAME",
        help="How answers, or a field of the output, are scored; by default, as the data set or the field's type says.",
    ),
    click.option(
        "--metric-option",
        "metric_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="An option of the metric; OUTPUT.NAME=VALUE for one field.",
    ),
)
"""What is answered, and what an answer is worth."""


def _named(option: Any) -> str:
    """The name of an option of a shared list."""

    def bare() -> None: ...

    return str(option(bare).__click_params__[0].name)


BATCH_OPTIONS = tuple(option for option in DATA_OPTIONS if _named(option) not in ("golds", "metrics", "metric_options"))
"""What is answered, where nothing is scored."""

MODEL_OPTIONS = (
    click.option(
        "--seed", type=int, default=42, show_default=True, help="Random seed for the order of items and for shuffles."
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(min=1),
        help="How many calls to make, and items to work on, at the same time.",
    ),
    click.option("--fresh", is_flag=True, help="Ask again even for known answers."),
    click.option(
        "--model", metavar="MODEL", help="Use this model instead of the workflow's; nodes that name a model keep it."
    ),
    click.option(
        "--judge-model", metavar="MODEL", help="The model that the metric `judge` asks; by default, the workflow's."
    ),
    click.option("--base-url", metavar="URL", help="The endpoint to use; `offline` is the embedded model."),
    click.option(
        "--budget-usd", type=click.FloatRange(min=0), metavar="USD", help="Stop once this many US dollars are spent."
    ),
    click.option("--budget-tokens", type=click.IntRange(min=0), metavar="N", help="Stop at this many tokens."),
    click.option("--budget-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this many seconds."),
    click.option(
        "--dry-run", is_flag=True, help="Show how many calls it would make and what they may cost; make no call."
    ),
)
"""Who answers, and how much that may cost."""

_SAME = (
    "dataset",
    "recipes",
    "reader",
    "part",
    "limit",
    "items",
    "person",
    "tools",
    "fake_tools",
    "seed",
    "model",
    "judge_model",
    "base_url",
    "concurrency",
    "fresh",
)


def asked_of(given: dict[str, Any], repeats: int = 1) -> EvaluationRequest:
    """What the options say. Raises `InputError`."""
    from merrow_optimizer.evaluation.metrics import NUMBER_OPTIONS
    from merrow_optimizer.evaluation.plan import EvaluationLimits
    from merrow_server.cli.given.values import read_values
    from merrow_server.cli.options.refining import refine_given
    from merrow_server.evaluations.evaluation_request import EvaluationRequest

    options = read_values(given["metric_options"], "--metric-option")
    return EvaluationRequest(
        **{name: given[name] for name in _SAME},
        **_of_fields(given["golds"], "gold", "golds", None),
        **_of_fields(given["metrics"], "metric", "metrics", {}),
        mapping=read_values(given["mapping"], "--map"),
        answers=read_values(given["answers"], "--answers"),
        metric_options={
            name: _number(value) if name.rpartition(".")[2] in NUMBER_OPTIONS else value
            for name, value in options.items()
        },
        repeats=repeats,
        limits=EvaluationLimits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"]),
        override_models=given.get("override_models", False),
        mask=given.get("mask"),
        mask_only=given.get("mask_only", ()),
        mask_every=given.get("mask_every", False),
        refine=refine_given(given) if "refine" in given else None,
        gates=dict(given.get("fail_under", ())),
    )


def _of_fields(given: tuple[str, ...], one: str, several: str, none: dict[str, str] | None) -> dict[str, Any]:
    """What is given for whole answers, as ``one``, the last time as with any option, and by fields of them as ``several``. Raises
    `InputError`.
    """
    from merrow_server.cli.given.values import read_values

    bare = [value for value in given if "=" not in value]
    by_field = read_values((value for value in given if "=" in value), f"--{one}")
    return {one: bare[-1] if bare else None, several: by_field or none}


def _number(text: str) -> Any:
    """An option's value: a number where it is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if type(value) in (int, float) else text
