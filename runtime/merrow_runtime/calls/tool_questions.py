"""What servers of tools ask people, as questions of a run, and the answers as servers want them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from merrow_analysis.people.forms import ANSWER, Form, FormField, UnanswerableError, read_form
from merrow_analysis.visible import plain
from merrow_runtime.errors import ToolFailure
from merrow_runtime.requests import PersonAnswer, PersonQuestion, ToolQuestion
from merrow_runtime.values import canonical

LONGEST_MESSAGE = 20_000
"""Characters of a server's question that are shown."""
LONGEST_ADDRESS = 8_000

DECLINED: Mapping[str, Any] = {"action": "decline"}
OPENED, NOT_OPENED = "opened", "not opened"
"""What a person may say of an address that they are asked to open."""

_LABELS = ("I have opened it", "I won't open it")


def person_question(tool: str, question: ToolQuestion) -> PersonQuestion:
    """How a person is asked, and by whom. Raises `ToolFailure` for what no person can be asked."""
    message = plain(question.message)
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]}\n... ({len(message) - LONGEST_MESSAGE:,} more characters are left out)"
    ask, server = f"{tool} asks: {message}", tool.partition(".")[0]
    if question.schema is None:
        form = Form((FormField(ANSWER, "word", "Have you opened it?", words=(OPENED, NOT_OPENED), labels=_LABELS),))
        return PersonQuestion(ask, form.schema(), _address(server, question.url or ""))
    try:
        form = read_form(question.schema)
    except UnanswerableError as why:
        raise ToolFailure(
            f"The server `{server}` asks for something that no form can have: {plain(str(why))}.", answered=True
        ) from None
    return PersonQuestion(ask, form.schema())


def response(question: ToolQuestion, answer: PersonAnswer) -> dict[str, Any]:
    """An answer as its server gets it."""
    if answer.action != "accept":
        return dict(DECLINED)
    if question.schema is None:
        return {"action": "accept"} if answer.content.get(ANSWER) == OPENED else dict(DECLINED)
    return {"action": "accept", "content": dict(answer.content)}


def sameness(question: ToolQuestion) -> str:
    """Equal for questions that need not be put again: their message and their form are equal. An address is another each time."""
    return canonical([question.message, question.url if question.schema is None else dict(question.schema)])


def _address(server: str, url: str) -> tuple[tuple[str, str], ...]:
    """What a person sees of an address, whose host and path come first."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or len(url) > LONGEST_ADDRESS:
        raise ToolFailure(
            f"The server `{server}` asks to open something that is not the address of a page.", answered=True
        )
    return ("Page", plain(f"{host}{parts.path}")), ("Address", plain(url))
