"""What the user is asked: whether results of another endpoint are reused, and whether a revision is applied."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.lsp.protocol import FeatureError

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from merrow_runtime.provenance import ForeignResults, Reuse

log = logging.getLogger(__name__)

AGAIN, KEEP = "Run Again", "Keep Results"
APPLY, REFUSE = "Apply", "Refuse"


async def ask_about_reuse(server: LanguageServer, foreign: ForeignResults) -> Reuse:
    """Ask whether results of another endpoint are made again or kept. Raises `FeatureError` with what to do where the client
    can't ask, and where the user doesn't say.
    """
    actions = [types.MessageActionItem(AGAIN), types.MessageActionItem(KEEP)]
    params = types.ShowMessageRequestParams(types.MessageType.Warning, foreign.situation, actions)
    try:
        answer = await server.window_show_message_request_async(params)
    except asyncio.CancelledError:
        raise
    except Exception:
        log.exception("The client could not ask about results of another endpoint.")
        raise FeatureError(
            f'{foreign.situation} Execute the command with `reuse: "same"` to run them again, or with `reuse: "any"` to keep'
            " their results.",
            types.LSPErrorCodes.RequestFailed,
        ) from None
    title = None if answer is None else answer.title
    if title not in (AGAIN, KEEP):
        raise FeatureError(f"{foreign.situation} Nothing was run.", types.LSPErrorCodes.RequestCancelled)
    return "same" if title == AGAIN else "any"


async def ask_about_revision(server: LanguageServer, event: dict[str, Any]) -> bool | None:
    """Ask whether a revision is applied that waits for that, by its event; None where nobody answers."""
    diff = event.get("diff", {})
    counts = [
        f"{len(diff[word])} {word}" for word in ("kept", "reset", "added", "removed", "changed") if diff.get(word)
    ]
    reason = f" {event['reason']}" if event.get("reason") else ""
    sentence = f"Revision {event['revision']} of run {event['run']} waits for you ({', '.join(counts)}).{reason}"
    actions = [types.MessageActionItem(APPLY), types.MessageActionItem(REFUSE)]
    params = types.ShowMessageRequestParams(types.MessageType.Info, sentence, actions)
    try:
        answer = await server.window_show_message_request_async(params)
    except asyncio.CancelledError:
        raise
    except Exception:
        log.exception("The client could not ask about a revision.")
        return None
    return None if answer is None or answer.title not in (APPLY, REFUSE) else answer.title == APPLY
