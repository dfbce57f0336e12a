"""What a shell completes: files, and the names of nodes, inputs, runs, rules and patterns.

Each function answers for one parameter: called with its context, the parameter and what is typed of the word so far. A person
waits at each press of a key, so nothing here imports what a command needs to do its work: texts are only parsed, and the
journal is only glanced at.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from click.shell_completion import CompletionItem

from merrow_server.rendering.snippet import visible

if TYPE_CHECKING:
    import click

    from merrow_runtime.store.glance import Kind

Items: TypeAlias = "list[CompletionItem[str]]"  # in quotes: Click has it with a type only since 8.3

_INTERFACE = "Interface"
_MOST_RUNS = 50
_SESSIONS: tuple[Kind, ...] = ("evaluation", "search", "extraction", "plan", "suggestion", "reproduction")
_ANY = ("finished", "stopped", "cancelled", "running")
_ANY_RUN = ("finished", "failed", "cancelled", "running", "waiting")


def files(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Files and folders, which the shell itself knows."""
    return _files(typed)


def datasets(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The data sets that come with Merrow, and files."""
    known = ((name, "comes with Merrow") for name in ("arithmetic", "mails", "flow-tasks", "textcraft", "handbook"))
    return _fitting(known, typed) + _files(typed)


def endpoints(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The addresses that model servers on this machine mostly have; none is asked."""
    from merrow_runtime.models.discovery import PORTS

    return _fitting(((f"http://127.0.0.1:{port}/v1", "") for port in PORTS), typed)


def nodes(context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The nodes of the workflow FILE that do something."""
    return _fitting(((id_, "") for id_, is_end in _vertices(_named(context, "file")) if not is_end), typed)


def ports(context: click.Context, parameter: click.Parameter, typed: str) -> Items:
    """The beginnings of ``NODE.PORT=VALUE``."""
    return [CompletionItem(f"{item.value}.", type="open") for item in nodes(context, parameter, typed)]


def inputs(context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The beginnings of ``NAME=VALUE`` for nodes of class Interface to which no edge leads; files behind ``NAME=@``."""
    name, at, file = typed.partition("=@")
    if at:
        return [CompletionItem(file, type="file", skip=len(name) + len(at))]
    items = [
        (f"{id_.lower()}=", "") for id_, is_end in _vertices(_named(context, "file")) if is_end and id_ != "RETURN"
    ]
    return _fitting(items, typed, "open")


def kept_stores(context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The names of kept stores, behind an action that takes one."""
    if context.params.get("words") or context.params.get("action") == "list":
        return []
    from merrow_runtime.documents.kept_store import names_in
    from merrow_runtime.store.location import state_folder

    return _fitting(((name, "") for name in names_in(state_folder() / "stores")), typed)


def runs(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The newest runs of the journal."""
    return _jobs(typed, _ANY_RUN, "run")


def evaluations(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The newest evaluations of the journal."""
    return _jobs(typed, _ANY, "evaluation")


def searches(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The newest searches of the journal."""
    return _jobs(typed, _ANY, "search")


def anything(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """What `merrow show` can show."""
    return _jobs(typed, _ANY_RUN, "run") + _jobs(typed, _ANY, *_SESSIONS)


def anything_or_files(context: click.Context, parameter: click.Parameter, typed: str) -> Items:
    """What `merrow view` can show: jobs where what is typed begins the id of one, and files."""
    return (anything(context, parameter, typed) if typed else []) + _files(typed)


def unfinished(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """What `merrow resume` can continue."""
    return unfinished_runs(_context, _parameter, typed) + _jobs(typed, ("stopped", "cancelled", "running"), *_SESSIONS)


def unfinished_runs(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """What `merrow revise` can change."""
    return _jobs(typed, ("failed", "cancelled", "running", "waiting"), "run")


def waiting_runs(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """What `merrow answer` can answer."""
    return _jobs(typed, ("waiting", "running"), "run")


def running(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """What `merrow cancel` can end."""
    return _jobs(typed, ("waiting",), "run") + _jobs(typed, ("running",), "run", *_SESSIONS)


def evaluations_or_files(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """What `merrow evaluate --compare` can compare."""
    return _jobs(typed, _ANY, "evaluation") or _files(typed)


def nodes_of_run(context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The nodes of the workflow that the run was made with, or that the newest run was."""
    from merrow_runtime.store.glance import newest

    wanted = _named(context, "run")
    for run in newest("run", _MOST_RUNS):
        if run.id.startswith(wanted) or run.workflow == wanted:
            return _fitting(((id_, "") for id_, _ in _vertices(run.workflow)), typed)
    return []


def rules(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Codes of rules, each with the rule's name; their names where the word begins with a small letter."""
    from merrow_analysis.rules.pages import page_codes, page_text

    headings = [(page_text(code) or "").split(maxsplit=3)[1:3] for code in page_codes()]
    named = typed[:1].islower() and not "mw".startswith(typed[:2])
    return _fitting(((name, code) if named else (code, name) for code, name in headings), typed)


def patterns(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """The patterns that `merrow new` starts from."""
    from merrow_server.templates import templates

    return _fitting(((template.name, template.title) for template in templates().values()), typed)


def _files(typed: str) -> Items:
    return [CompletionItem(typed, type="file")]


def _jobs(typed: str, statuses: Iterable[str], *kinds: Kind) -> Items:
    """The newest of these kinds that are in one of these states."""
    from merrow_runtime.store.glance import newest

    jobs = [(kind, job) for kind in kinds for job in newest(kind, _MOST_RUNS) if job.status in statuses]
    return _fitting(
        (
            (job.id, visible(f"{'' if kind == 'run' else f'{kind}, '}{job.status}, {job.workflow}"))
            for kind, job in jobs
        ),
        typed,
    )


def _fitting(words: Iterable[tuple[str, str]], typed: str, type_: str = "plain") -> Items:
    """The words that begin with what is typed, in any case of letters, each with its help."""
    begins = typed.casefold()
    return [
        CompletionItem(word, type=type_, help=help_ or None)
        for word, help_ in words
        if word.casefold().startswith(begins) and word.isprintable()
    ]


def _named(context: click.Context, argument: str) -> str:
    """The one argument of the command, as far as it is typed. Where an option behind it still lacks its value, click has put
    the argument aside.
    """
    typed = str(context.params.get(argument) or next(iter(context.args), ""))
    # A shell opens `~` only when it runs the line.
    return os.path.expanduser(typed)  # noqa: PTH111 (a path would lose what a block of Markdown and an id have in theirs)


def _vertices(file: str) -> list[tuple[str, bool]]:
    """The nodes drawn in a file, and whether each is an input or output; none where it can't be read."""
    from merrow_analysis.syntax.structure import parse_record
    from merrow_runtime.program.workflow_files import file_target, read_path, the_diagram

    if not file:
        return []
    target = file_target(file)
    if target.path is None:
        return []
    text, _ = the_diagram(target, read_path(target.path, target.name).text)
    drawn = parse_record(text)["structure"] or {}
    return [(vertex["id"], _INTERFACE in vertex["classes"]) for vertex in drawn.get("vertices", ())]
