"""Questions of runs to people: ``merrow.answer`` answers one, ``merrow.waiting`` lists those that are open.

Each takes one object:

- ``merrow.answer`` ``{run, node, path?}`` names a question: ``node`` is its node or, with the turns and items that it is in, its
  visit (``TRIALS[2]/PART``); ``path`` may say these apart. ``value`` is an answer as a command line takes it, ``form`` one by
  the fields of its form, and ``decline: true`` says that nobody wants to answer. Without any of them the user is asked. The
  answer is ``{run, node, state, by}``, null where the user puts it off; a run that no process works on continues here.
- ``merrow.waiting`` ``{uri?, diagram?, run?, limit?}``: the open questions of all runs, of those of a document, or of one run;
  only those of one run have their forms. Each is what `merrow/ask` is sent, and ``{uri, diagram, kind, asked}``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.run_commands import check_trust
from merrow_server.features.commands.run_journal import text_in, what_to_list
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer

ANSWER, WAITING = "merrow.answer", "merrow.waiting"


def register(server: MerrowServer) -> None:
    server.command(ANSWER)(answer)
    server.command(WAITING)(waiting)


async def answer(server: MerrowServer, arguments: list[Any]) -> dict[str, Any] | None:
    """Answer a question of a run, or ask the user to."""
    asked = _object(server, arguments)
    run, node = text_in(asked, "run", ANSWER), text_in(asked, "node", ANSWER)
    path = asked.get("path") or ""
    value, form, declines = asked.get("value"), asked.get("form"), asked.get("decline", False)
    if not isinstance(path, str):
        raise InvalidParameters("`path` must be a text.")
    if not isinstance(value, str | int | float | None):
        raise InvalidParameters("`value` must be a text, a number, or true or false.")
    if not isinstance(form, dict | None):
        raise InvalidParameters("`form` must be an object with the fields of the form.")
    if not isinstance(declines, bool):
        raise InvalidParameters("`decline` must be true or false.")
    if sum((value is not None, form is not None, declines)) > 1:
        raise InvalidParameters("Give `value`, `form` or `decline`, only one of them.")
    check_trust(server)
    if path:
        from merrow_runtime.visit import Visit

        node = str(Visit(node, path))
    if value is None and form is None and not declines:
        return await server.runs.people.put(run, node)
    given = form if form is not None else None if value is None else _text(value)
    return await server.runs.people.give(run, node, given)


async def waiting(server: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]]:
    """The open questions."""
    asked = _object(server, arguments)
    run = asked.get("run")
    if run is not None:
        run = text_in(asked, "run", WAITING)
        questions = await server.jobs.ask(lambda session: _people().questions_of(session, run))
    else:
        name, limit = what_to_list(server, asked, WAITING)
        questions = await server.jobs.ask(lambda session: _people().list_questions(session, name, limit))
    listed: list[dict[str, Any]] = [
        {key: value for key, value in question.items() if key != "number"} for question in questions
    ]
    return listed


def _object(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    given = as_mapping(arguments[0]) if arguments else {}
    if given is None:
        raise InvalidParameters("The argument must be an object, such as {run, node}.")
    plain: dict[str, Any] = server.plain(given)
    return plain


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _people() -> ModuleType:
    """Imported by the thread of the jobs, as the runtime is."""
    from merrow_server.jobs import people

    return people
