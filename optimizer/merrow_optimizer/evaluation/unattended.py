"""Options of runs that nobody watches: those of evaluations, searches and cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from merrow_analysis.graph.resolve import may_ask_person
from merrow_analysis.suggest import closest
from merrow_runtime.errors import UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.provenance import listed
from merrow_runtime.revising.reviser import refining
from merrow_runtime.workflow import Workflow

SIMULATED_PERSON = "SIMULATED PERSON"
"""What stands beside every result for which a model played a person, so that nobody takes it for one with people."""


def unattended(workflow: Workflow, options: RunOptions) -> RunOptions:
    """The options of such a run. Nobody is there to answer a question, nor to agree to a change of the workflow, so that it is
    applied unasked, also where `refine: {ask: true}` would ask.
    """
    options = replace(options, unattended=True)
    if refining(workflow.analysis.settings.refine, options.refine) is None:
        return options
    return replace(options, refine={**(options.refine or {}), "ask": False})


def check_people(workflow: Workflow, options: RunOptions, answers: Mapping[str, str]) -> bool:
    """Whether a model plays a person (``options.person``): some Human has no ``answers``, which have by node the field of the
    data with its answer.

    Raises `UsageFailure` where a workflow, or a file that it calls, asks people and can't do without: a Human has neither these
    nor a `default`, and no model answers. Also where ``answers`` name no Human.
    """
    asking: list[str] = []
    is_played = False
    known: set[str] = set()
    for reached in workflow.reached():
        for step in make_steps(reached, options).values():
            if may_ask_person(step.node.resolution):
                raise UsageFailure(
                    f"The agent {step.definition.id} may ask a person, and nobody can be asked for each item. Take `person` out"
                    " of its `tools`."
                )
            if step.node.spec is None or not step.node.spec.is_human:
                continue
            name = step.definition.id
            known.add(name)
            # Of a node in a called file the path is given: `SOLVE/ASK`.
            named = any(name == given.rpartition("/")[2] for given in answers)
            if not named and options.person is not None:
                is_played = True
            elif step.fallback is None and not named:
                asking.append(name)
    for given in answers:
        if given.rpartition("/")[2] not in known:
            near = closest(given, known)
            hint = f" Did you mean {near}?" if near else ""
            raise UsageFailure(f"--answers names {given}, which is not a Human of {workflow.name}.{hint}")
    if asking:
        ask, nodes = ("ask", "Nodes") if len(asking) > 1 else ("asks", "Node")
        raise UsageFailure(
            f"{nodes} {listed(asking)} {ask} a person, and nobody can be asked for each item. Take the answers from the data with"
            f" --answers {asking[0]}=FIELD, have a model answer with --person MODEL, or write `on_error: default` and a `default`"
            " there, which is then used."
        )
    return is_played
