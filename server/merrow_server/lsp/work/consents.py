"""The user's consent to what tools do, asked for in an editor: in a form, in a message, or only on a command line."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.following import Following, NeedsConsentError
from merrow_server.lsp.work.people import ASK
from merrow_server.rendering.snippet import plain

if TYPE_CHECKING:
    from merrow_runtime.outside.consent import ConsentFailure

log = logging.getLogger(__name__)

Json = dict[str, Any]
_LONGEST_MESSAGE = 4_000
"""Characters of a message. What is longer is not asked in one: nobody agrees to what they can't see."""
_ANSWER = "answer"
_APPROVAL: Json = {
    "type": "object",
    "properties": {_ANSWER: {"type": "boolean", "title": "Do you agree?"}},
    "required": [_ANSWER],
}


class ConsentAsker:
    """Asks one user, about one thing at a time."""

    def __init__(self, server: Host, jobs: Following) -> None:
        self._server, self._jobs = server, jobs
        self._one = asyncio.Lock()

    async def get(self, needed: NeedsConsentError) -> None:
        """Ask for the consent that something needs, and keep it. Raises `FeatureError`: where the user does not agree, and with
        what to do where the client can't ask.
        """
        from merrow_server.tools.consent_words import question_of

        failure: ConsentFailure = needed.failure
        async with self._one:
            if failure.is_given():
                return  # Two asked for the same at once.
            answer = await self.ask(question_of(failure))
            if answer is None:
                raise needed
            if not answer:
                raise FeatureError(f"{failure.situation} Nothing was started.", types.LSPErrorCodes.RequestCancelled)
            await self._jobs.ask(lambda _: failure.agree())

    async def ask(self, question: Json) -> bool | None:
        """Whether the user agrees to what `merrow_server.tools.consent_words.question_of` gives; None where nobody can be
        asked.
        """
        server = self._server
        if server.supports.asks_people:
            nowhere = {"run": "", "node": "", "path": "", "visit": "", "workflow": "", "uri": None, "diagram": 1}
            times = {"asked": None, "deadline": None}
            asked = {**nowhere, **question, **times, "kind": "consent", "schema": _APPROVAL, "problems": []}
            try:
                answer = await server.protocol.send_request_async(ASK, asked)
                given = server.protocol.converter.unstructure(answer)
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("The client could not ask for consent.")
            else:
                accepts = isinstance(given, dict) and given.get("action") == "accept"
                content = given.get("content") if accepts else None
                return isinstance(content, dict) and content.get(_ANSWER) is True
        sections = [f"{section['title']}\n{section['text']}" for section in question["shown"]]
        message = plain("\n\n".join([question["title"], *sections, question["question"]]))
        if len(message) > _LONGEST_MESSAGE:
            return None
        actions = [types.MessageActionItem(question["button"])]
        params = types.ShowMessageRequestParams(types.MessageType.Warning, message, actions)
        try:
            chosen = await server.window_show_message_request_async(params)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("The client could not ask for consent.")
            return None
        return chosen is not None and chosen.title == question["button"]
