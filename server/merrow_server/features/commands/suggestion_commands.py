"""Commands for suggestions of a model: ``merrow.suggest`` and ``merrow.applySuggestion``.

``merrow.suggest`` takes one object, of which all but ``uri`` may be left out:

- ``diagram``, the number of the diagram in a Markdown file; ``version`` of the document, which must be that of the text as it is;
- ``node``, the only node whose prompt may change; ``range``, which the suggestions should be about; ``goal``, in words;
- ``n``, how many candidates (4, at most 16); ``optimizerModel``, ``judgeModel``, ``model``, ``baseUrl``, ``fresh``, ``seed``: as
  the options of ``merrow suggest``; ``budget``, ``{usd, tokens, seconds}``;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost more than
  the setting ``suggest-ask-above-usd``, or ``suggest_ask_above_usd`` of the user's own settings where that is less;
- ``preview``: only answer. Otherwise the user is asked which one to apply, by ``window/showMessageRequest``.

It answers what ``merrow suggest --format json`` prints, with ``uri``, ``diagram`` and ``version``; each of ``suggestions`` also
has ``edits`` and ``delta`` (as in ``merrow.mutate``) and ``diagramText``. ``applied`` is the id of what was applied, or null.

A lens says how many suggestions there are while the text is as it was; it has ``merrow.suggest`` with what was asked, whose
answers are known.

``merrow.applySuggestion`` takes ``{id}`` and has the client make its edits as one step, where the document is still as it was
when it was suggested. It answers ``{id, title, uri}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from weakref import ref

from lsprotocol import types

from merrow_server.features.code_action import SUGGEST_COMMAND, as_mapping
from merrow_server.features.commands.execute_command import apply
from merrow_server.features.commands.job_commands import SUGGESTION, JobArgument, fields_of, flag, text, whole
from merrow_server.features.commands.run_commands import asked_of, check_trust, name_of, runnable, tell
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation, refused
from merrow_server.lsp.work.suggestions import Kept, Last
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_server.jobs.asking_orders import Suggested
    from merrow_server.jobs.orders import SuggestionOrder

APPLY_COMMAND = "merrow.applySuggestion"
_GOAL = 1_000
_NOT_AGAIN = ("version", "dryRun", "agreed", "preview", "fresh", "budget")
"""What is said of one question alone."""
_FIELDS = {
    "node": text(),
    "goal": text(),
    "n": whole(None, 1, 16),
    "optimizerModel": text("optimizer_model"),
    "judgeModel": text("judge_model"),
    "model": text(),
    "baseUrl": text("base_url"),
    "fresh": flag(),
    "seed": whole(None, None),
}
_OTHERS = {"version": JobArgument(int, "the version of the document"), "dryRun": flag(), "preview": flag()}


def register(server: MerrowServer) -> None:
    server.command(SUGGEST_COMMAND)(suggest)
    server.command(APPLY_COMMAND)(apply_suggestion)


async def suggest(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Have a model suggest improvements of a workflow as it is in the editor."""
    asked = asked_of(arguments)
    settings = fields_of(asked, _FIELDS)
    fields_of(asked, _OTHERS)
    diagram = runnable(server, asked)
    document, version = diagram.document, diagram.document.version
    if asked.get("version", version) != version:
        raise _changed()
    place, title = JobLocation(document.uri, asked["diagram"], ref(diagram)), f"Suggestions for {name_of(diagram)}"
    suggested = await SUGGESTION.carry_out(server, asked, _order(server, asked, settings, diagram), place, title)
    if asked.get("dryRun", False):
        forecast: dict[str, Any] = suggested
        return forecast
    answer, differences = cast("Suggested", suggested)
    if document.version != version or server.document(document.uri) is not document:
        raise _changed()
    from merrow_server.lsp.offers.mutations import delta_object

    for suggestion, difference in zip(answer["suggestions"], differences, strict=True):
        edits = diagram.edits_to_lsp(suggestion["edits"])
        server.suggestions.keep(
            suggestion["id"], Kept(document.uri, version, suggestion["title"], suggestion["effect"], tuple(edits))
        )
        suggestion["edits"], suggestion["delta"] = edits, delta_object(difference)
    if answer["suggestions"]:
        again = {name: value for name, value in asked.items() if name not in _NOT_AGAIN}
        server.suggestions.remember(diagram, Last(diagram.text, len(answer["suggestions"]), again))
    answer |= {"uri": document.uri, "diagram": asked["diagram"], "version": version, "applied": None}
    if not asked.get("preview", False):
        answer["applied"] = await _choose(server, title, answer)
    return answer


async def apply_suggestion(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Apply a suggestion to the document that it was made for."""
    given = as_mapping(arguments[0]) if arguments else None
    name = None if given is None else given.get("id")
    if not isinstance(name, str):
        raise InvalidParameters(f"{APPLY_COMMAND} takes an object with the `id` of a suggestion.")
    kept = await _applied(server, name, confirmed=True)
    return {"id": name, "title": kept.title, "uri": kept.uri}


async def _applied(server: MerrowServer, name: str, *, confirmed: bool) -> Kept:
    """Apply a suggestion. ``confirmed`` says that the user has seen what it changes."""
    kept = server.suggestions.kept(name)
    if kept is None:
        raise refused(f"There is no suggestion {name}; ask for suggestions again.")
    document = server.document(kept.uri)
    if document is None or document.version != kept.version:
        raise _changed()
    await apply(server, document, kept.title, list(kept.edits), confirm=None if confirmed else kept.effect)
    return kept


def _order(
    server: MerrowServer, asked: dict[str, Any], settings: dict[str, Any], diagram: OpenDiagram
) -> SuggestionOrder:
    from merrow_server.jobs.orders import SuggestionOrder
    from merrow_server.lsp.offers.mutations import operators_for

    check_trust(server)
    settings["goal"] = settings.get("goal", "")[:_GOAL]
    settings["about"] = (
        () if asked.get("range") is None or "node" in asked else _selected(server, diagram, asked["range"])
    )
    settings["ask_above_usd"] = float(server.surroundings.settings(diagram.document).values["suggest-ask-above-usd"])
    workflow = text_of(diagram, asked["diagram"])
    return SuggestionOrder(Ticket(), workflow, settings, asked.get("budget", {}), operators_for(diagram))


def _selected(server: MerrowServer, diagram: OpenDiagram, given: Any) -> tuple[str, ...]:
    """The nodes that a range of the document means."""
    from merrow_analysis.ide.cursor.selection import selection

    try:
        place = server.protocol.converter.structure(server.plain(given), types.Range)
    except Exception:  # noqa: BLE001 (whatever a converter raises)
        raise InvalidParameters("`range` must be a range, {start, end}.") from None
    within = diagram.range_from_lsp(place)
    if within is None:
        return ()
    selected = selection(diagram.analysis, within).nodes
    return tuple(node.id for node in selected if node.kind not in ("input", "output"))


async def _choose(server: MerrowServer, title: str, answer: dict[str, Any]) -> str | None:
    """Ask the user which suggestion to apply, and apply it; its id, None where none is chosen."""
    from merrow_server.suggestions.suggestion_words import score_text, valid_lines

    if not answer["suggestions"]:
        tell(server, f"{title}: none passed. {valid_lines(answer['valid'])[0]}", types.MessageType.Warning)
        return None
    named = {
        f"{number}. {suggestion['title']} ({score_text(suggestion['scores'])})": suggestion
        for number, suggestion in enumerate(answer["suggestions"], 1)
    }
    told = " ".join(f"{number}. {suggestion['effect']}." for number, suggestion in enumerate(answer["suggestions"], 1))
    params = types.ShowMessageRequestParams(
        types.MessageType.Info, f"{title}: {told}", [types.MessageActionItem(name) for name in named]
    )
    try:
        chosen = await server.window_show_message_request_async(params)
    except Exception:  # noqa: BLE001 (a client that can't ask shows them in its own way)
        return None
    suggestion = None if chosen is None else named.get(chosen.title)
    if suggestion is None:
        return None
    await _applied(server, suggestion["id"], confirmed=False)
    return str(suggestion["id"])


def _changed() -> FeatureError:
    return FeatureError("The text changed meanwhile; ask for suggestions again.", types.LSPErrorCodes.ContentModified)
