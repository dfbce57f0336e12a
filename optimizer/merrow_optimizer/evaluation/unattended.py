"""Options of runs that nobody watches: those of evaluations, searches and cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from merrow_analysis.graph.resolve import may_ask_person
from merrow_analysis.suggest import closest
from merrow_runtime.errors import UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.provenance import listed
from merrow_runtime.revising.reviser import refining
from merrow_runtime.values import as_text
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
    """Whether a model plays a person (``options.person``): some Human, or agent that may ask a person, has no ``answers``, which
    have by node the field of the data with its answer.

    Raises `UsageFailure` where a workflow, or a file that it calls, asks people and can't do without: such a node has neither
    these nor a `default`, and no model answers. Also where ``answers`` name none.
    """
    asking: list[str] = []
    is_played = False
    known: set[str] = set()
    for reached in workflow.reached():
        for step in make_steps(reached, options).values():
            is_human = step.node.spec is not None and step.node.spec.is_human
            if not is_human and not may_ask_person(step.node.resolution):
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
            raise UsageFailure(f"--answers names {given}, which asks nobody in {workflow.name}.{hint}")
    if asking:
        ask, nodes = ("ask", "Nodes") if len(asking) > 1 else ("asks", "Node")
        raise UsageFailure(
            f"{nodes} {listed(asking)} {ask} a person, and nobody can be asked for each item. Take the answers from the data with"
            f" --answers {asking[0]}=FIELD, have a model answer with --person MODEL, or write `on_error: default` and a `default`"
            " there, which is then used."
        )
    return is_played


def with_answers(workflow: Workflow, options: RunOptions, answers: Mapping[str, Any]) -> RunOptions:
    """The options of a run in which people answer so, by the nodes that ask: a Human gives its answer, an agent is told it
    whenever it asks.
    """
    if not answers:
        return options
    agents = {
        node.id for reached in workflow.reached() for node in reached.graph.nodes if may_ask_person(node.resolution)
    }
    told = {name: as_text(said) for name, said in answers.items() if name.rpartition("/")[2] in agents}
    return replace(options, told=told, set_outputs={name: said for name, said in answers.items() if name not in told})
