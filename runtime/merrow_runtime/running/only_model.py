"""The model of a workflow that names none, where its endpoint serves just one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from merrow_runtime.models.origins import OPENAI_ORIGIN
from merrow_runtime.models.reach import served
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.workflow import Workflow


def with_only_model(
    chosen: ChosenEndpoint, options: RunOptions, workflows: Iterable[Workflow] | None
) -> ChosenEndpoint:
    """The same with the only model that its endpoint lists, said in a notice, where one of the ``workflows`` would ask a model
    that nobody names (None: something would). Endpoints with several models, OpenAI and Azure change nothing.

    The endpoint is asked for its list once in a process, for at most 3 seconds; no model is called. Raises `UsageFailure` as
    `make_steps` does.
    """
    connection = chosen.connection
    if connection is None or connection.azure is not None or chosen.endpoint.origin == OPENAI_ORIGIN:
        return chosen
    if options.model or options.default_model or chosen.model:
        return chosen
    if workflows is not None and not any(_asks_unnamed(workflow, options) for workflow in workflows):
        return chosen
    models = served(connection)
    if len(models) != 1:
        return chosen
    notice = f"No model is named; {chosen.endpoint.origin} has one, `{models[0]}`, which is used."
    return replace(chosen, model=models[0], notices=(*chosen.notices, notice))


def _asks_unnamed(workflow: Workflow, options: RunOptions) -> bool:
    """Whether a node asks the model that is asked where nothing names one. One that names that very model counts too where its
    file names none: then a model is chosen that nobody asks.
    """
    if workflow.analysis.settings.model is not None:
        return False
    steps = make_steps(workflow, options).values()
    return any(DEFAULT_MODEL in step.models for step in steps if step.called is None)
