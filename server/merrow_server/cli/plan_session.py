"""What ``merrow plan`` does: asks, ranks, judges, writes and reports."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_optimizer.planning.candidates import REPAIRS, Candidate, Wanted, ask_for_plans, written
from merrow_optimizer.planning.choosing import Ranked, in_order, usable
from merrow_optimizer.planning.coverage import Coverage, judge
from merrow_optimizer.planning.model import Model
from merrow_optimizer.planning.ranking import RULES, RuleName
from merrow_optimizer.planning.reading import Bounds, read_plans
from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.gate import gate_of
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import estimate_call
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.resources import Chosen, Resources
from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.output import complain
from merrow_server.cli.plan_text import plan_lines, refused_lines
from merrow_server.errors import InputError
from merrow_server.files import Source, Target, create, read, write_stdout
from merrow_server.output_files import check_folder
from merrow_server.plan_files import task_of
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.run_report import cost_text

if TYPE_CHECKING:
    from merrow_runtime.usage import Usage


_OFFLINE = "The embedded offline model answers, which is not a real model: it has the same plan for every task, and judges none."


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be planned, and how. ``source`` is a file that has the plans already."""

    task: str
    count: int
    rule: RuleName
    roles: tuple[str, ...]
    max_agents: int | None
    max_nodes: int
    source: str | None
    judges: bool
    as_mermaid: bool
    model: str | None
    judge_model: str | None
    base_url: str | None
    fresh: bool

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.max_nodes, self.max_agents, self.roles, needs_agents=self.source is None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The plans in order, those that can't be used, and what the judge said (or why nothing)."""

    plans: tuple[Ranked, ...]
    refused: tuple[Candidate, ...]
    coverage: Coverage | None
    notice: str | None
    used: Usage
    known: int


def plan(asked: Asked, *, output: Path | None, folder: Path | None, as_json: bool, dry_run: bool) -> int:
    """Plan, and print or write the plans; the exit code. Raises `InputError`, `RunFailure`."""
    _check_places(output, folder)
    given = None if asked.source is None else read(Target(asked.source, Path(asked.source))).text
    task = asked.task or task_of(given or "")
    if not task:
        raise InputError(f'{asked.source} does not say its task; give it: merrow plan "TASK" --from {asked.source}')
    options = RunOptions(base_url=asked.base_url)
    with Resources(options, None, None) as resources:
        chosen = resources.chosen(())
        model = asked.model or chosen.model or DEFAULT_MODEL
        wanted = Wanted(task, model, asked.bounds, asked.as_mermaid)
        if dry_run:
            try:
                _print_forecast(asked, wanted, chosen, as_json=as_json)
            finally:
                asyncio.run(resources.close(resources, whole=True))
            return OK
        notices = list(chosen.notices)
        if chosen.endpoint.origin == OFFLINE_ORIGIN and given is None:
            notices.append(_OFFLINE)
        for sentence in notices:
            echo(f"{style('Note:', fg='yellow')} {visible(sentence)}", err=True)
        try:
            outcome = asyncio.run(_planned(asked, wanted, given, resources, chosen))
        except EndpointFailure as failure:
            complain(str(failure))
            return NOT_WELL
    return _report(asked, wanted, outcome, output=output, folder=folder, as_json=as_json)


def _check_places(output: Path | None, folder: Path | None) -> None:
    """Raise `InputError` before anything is paid where the plans could not be written."""
    if output is not None and output.exists():
        raise InputError(f"{output} is there already and is not written over.")
    if output is not None and not output.absolute().parent.is_dir():
        raise InputError(f"{output} can't be written: its folder does not exist.")
    if folder is not None:
        check_folder(folder)


async def _planned(asked: Asked, wanted: Wanted, given: str | None, resources: Resources, chosen: Chosen) -> Outcome:
    try:
        calling = Calling(
            chosen.endpoint,
            gate_of(chosen.endpoint).semaphore(chosen.concurrency),
            meter=resources.meter("merrow plan"),
        )
        model = Model(calling, resources.store.cache, asked.fresh)
        try:
            if given is None:
                candidates = await ask_for_plans(wanted, asked.count, model)
            else:
                read_all = read_plans(given, wanted.bounds)
                candidates = [written(number, one, wanted.task) for number, one in enumerate(read_all, 1)]
            plans = usable(candidates)
            coverage: Coverage | str | None = None
            if plans and asked.judges and calling.origin != OFFLINE_ORIGIN:
                graphs = [graph for _, graph in plans]
                coverage = await judge(wanted.task, graphs, asked.judge_model or wanted.model, model)
        finally:
            calling.close()
        found = coverage if isinstance(coverage, Coverage) else None
        return Outcome(
            tuple(in_order(plans, asked.rule, found)),
            tuple(one for one in candidates if one.graph is None),
            found,
            coverage if isinstance(coverage, str) else None,
            model.used,
            model.known,
        )
    finally:
        await resources.close(resources, whole=True)


def _report(
    asked: Asked, wanted: Wanted, outcome: Outcome, *, output: Path | None, folder: Path | None, as_json: bool
) -> int:
    files = _written(outcome, output, folder)
    if as_json:
        emit(json.dumps(_as_json(asked, wanted, outcome, files), indent=2, ensure_ascii=False))
    else:
        for line in (*refused_lines(outcome.refused), *plan_lines(outcome.plans, outcome.coverage, RULES[asked.rule])):
            echo(line, err=True)
        if outcome.notice is not None:
            echo(f"{style('Note:', fg='yellow')} {visible(outcome.notice)}", err=True)
        known = f", {outcome.known} known before" if outcome.known else ""
        calls = "1 call" if outcome.used.calls == 1 else f"{outcome.used.calls} calls"
        echo(f"{calls}{known}, {outcome.used.tokens:,} tokens, {cost_text(outcome.used.to_json())}", err=True)
        for file in files:
            echo(f"{file} is written.")
        if outcome.plans and not files:
            write_stdout(Source(outcome.plans[0].candidate.text))
    if outcome.plans:
        return OK
    complain("No plan can be used, and nothing is written.")
    return NOT_WELL


def _written(outcome: Outcome, output: Path | None, folder: Path | None) -> list[str]:
    """Write the plans where they are wanted; the names of the files, the best plan first."""
    if not outcome.plans:
        return []
    if output is not None:
        create(output, outcome.plans[0].candidate.text)
        return [str(output)]
    if folder is None:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} can't be made: {problem.strerror}.") from None
    files = [folder / f"{number}.mmd" for number in range(1, len(outcome.plans) + 1)]
    for file, one in zip(files, outcome.plans, strict=True):
        create(file, one.candidate.text)
    return [str(file) for file in files]


def _as_json(asked: Asked, wanted: Wanted, outcome: Outcome, files: list[str]) -> dict[str, Any]:
    rule = RULES[asked.rule]
    names = [*files, *[None] * len(outcome.plans)]
    return {
        "task": wanted.task,
        "rule": {"name": rule.name, "formula": rule.formula, "fault": rule.fault},
        "requirements": None if outcome.coverage is None else list(outcome.coverage.requirements),
        "plans": [
            {
                "rank": number,
                "candidate": one.candidate.number,
                "file": name,
                "text": one.candidate.text,
                "agents": [{"id": agent.id, "role": agent.role, "prompt": agent.prompt} for agent in one.graph.agents],
                "tasks": [
                    {
                        "id": task.id,
                        "objective": task.objective,
                        "agent": task.agent,
                        "output_format": task.output_format,
                        "after": list(task.after),
                    }
                    for task in one.graph.tasks
                ],
                "figures": {name: dict(shown) for name, shown in one.figures.items()},
                "metrics": one.measures.as_json(),
                "covered": {name: list(tasks) for name, tasks in one.covered.items()},
                "missing": list(one.missing),
                "behind": one.is_behind,
                "repairs": one.candidate.repairs,
                "notes": list(one.candidate.notes),
            }
            for number, (one, name) in enumerate(zip(outcome.plans, names, strict=False), 1)
        ],
        "refused": [{"candidate": one.number, "problems": list(one.problems)} for one in outcome.refused],
        "notice": outcome.notice,
        "usage": outcome.used.to_json(),
        "known": outcome.known,
    }


def _print_forecast(asked: Asked, wanted: Wanted, chosen: Chosen, *, as_json: bool) -> None:
    """Say what would be asked, and what it may cost: each plan once, or once more for each repair, and the judge."""
    judges = 1 if asked.judges else 0
    asks = 0 if asked.source is not None else asked.count
    request = wanted.request()
    price = price_at(chosen.endpoint, wanted.model)
    one = estimate_call(request, price)
    least, most = asks + judges, asks * (1 + REPAIRS) + judges
    cost = None if one.cost_usd is None else (least * one.cost_usd, most * one.cost_usd)
    if as_json:
        shown = {
            "endpoint": chosen.endpoint.origin,
            "model": wanted.model,
            "calls": {"least": least, "most": most},
            "tokens": {"least": least * one.tokens, "most": most * one.tokens},
            "cost_usd": None if cost is None else {"least": cost[0], "most": cost[1]},
            "messages": [{"role": message.role, "content": message.content} for message in request.messages]
            if asks
            else [],
        }
        emit(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for message in request.messages if asks else ():
        echo(f"{message.role}:")
        for line in message.content.split("\n"):
            echo(f"| {visible(line)}")
    money = "unknown" if cost is None else f"${cost[0]:.4f} to ${cost[1]:.4f}"
    echo(f"\nendpoint: {chosen.endpoint.origin}")
    echo(f"calls: {least} to {most}; tokens: about {least * one.tokens:,} to {most * one.tokens:,}; cost: {money}")
    echo("No call was made.")
