"""Reads an endpoint's answer, whole or streamed, into its parts: text, how it ended, usage. Forgiving in form only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_runtime.models.asked_calls import AskedCalls
from merrow_runtime.models.own_fields import GivenFields
from merrow_runtime.requests import Finish

_FINISHES: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


@dataclass(slots=True)
class EndpointAnswer:
    """What an endpoint said. ``reason`` is its word for how the answer ended, "" where none came; token counts are None
    where it didn't count.
    """

    reason: str = ""
    model: str = ""
    calls: AskedCalls = field(default_factory=AskedCalls)
    own: GivenFields = field(default_factory=GivenFields)
    has_choice: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    error: object = field(default=None)
    _content: list[str] = field(default_factory=list)
    _thinking: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)

    @property
    def content(self) -> str:
        return "".join(self._content)

    @property
    def thinking(self) -> str:
        return "".join(self._thinking)

    @property
    def refusal(self) -> str:
        return "".join(self._refusal)

    @property
    def has_begun(self) -> bool:
        """Whether a part of it has come that a model wrote."""
        return bool(self._content or self._thinking or self._refusal or self.calls)

    @property
    def finish(self) -> Finish:
        """How the answer ended."""
        return "refusal" if self._refusal else _FINISHES.get(self.reason, "stop")

    @classmethod
    def refused(cls, text: str) -> EndpointAnswer:
        """An answer that is a refusal with these words."""
        return cls(_refusal=[text])

    def add(self, body: Mapping[str, Any]) -> str:
        """Take in a whole answer or one chunk of a streamed one; gives back the piece of content that came with it."""
        if body.get("error"):
            self.error = body
        if isinstance(body.get("model"), str):
            self.model = self.model or body["model"]
        self._count(body.get("usage"))
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return ""
        choice = choices[0]
        self.has_choice = True
        self.reason = _text(choice.get("finish_reason")) or self.reason
        message = choice.get("message") or choice.get("delta")
        if not isinstance(message, Mapping):
            return ""
        piece, thoughts = _contents(message.get("content"))
        thoughts = thoughts or _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
        refusal = _text(message.get("refusal"))
        # Pieces are joined once, at the end: adding each to what came before would copy that again and again.
        for parts, part in ((self._content, piece), (self._thinking, thoughts), (self._refusal, refusal)):
            if part:
                parts.append(part)
        self.calls.add(message)
        self.own.add(message)
        return piece

    def _count(self, usage: object) -> None:
        if not isinstance(usage, Mapping):
            return
        prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        self.prompt_tokens = self.prompt_tokens if prompt is None else prompt
        self.completion_tokens = self.completion_tokens if completion is None else completion
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens")
        self.cached_tokens = _count(cached) or self.cached_tokens


def _contents(content: object) -> tuple[str, str]:
    """Text and thinking of a message's content: a text, or a list of parts."""
    if not isinstance(content, list):
        return _text(content), ""
    text: list[str] = []
    thinking: list[str] = []
    for part in content:
        if isinstance(part, Mapping) and part.get("type") == "thinking":
            thoughts = part.get("thinking")
            pieces = thoughts if isinstance(thoughts, list) else [{"text": thoughts}]
            thinking += [_text(piece.get("text")) for piece in pieces if isinstance(piece, Mapping)]
        elif isinstance(part, Mapping):
            text.append(_text(part.get("text")))
    return "".join(text), "".join(thinking)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return int(value)
