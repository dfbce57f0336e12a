"""What a tool answered, as plain data of bounded size."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mcp import types

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ServerResult:
    """What a call came to. ``text`` has all texts, with a line for each image, sound or file; ``structured`` is its structured
    content as JSON, None where there is none. ``is_error`` tells that the tool failed, and ``text`` is what it said about it.

    ``size`` is that of the text in bytes. Where it has more than the limit, ``text`` has its beginning and its end. Structured
    content beyond the limit is left out. ``is_whole`` tells that neither happened.
    """

    text: str
    structured: Any
    is_error: bool
    size: int
    is_whole: bool


def plain_result(result: types.CallToolResult, limit: int) -> ServerResult:
    """The result of a call. ``limit`` is in bytes, for the text and for the structured content. Raises `ValueError` where it has
    values that JSON does not have.
    """
    whole = "\n\n".join(map(_block, result.content)).encode("utf-8", "replace")
    text, is_whole = whole.decode("utf-8"), len(whole) <= limit
    if not is_whole:
        text = _ends(whole, limit)
    structured = None
    if result.structured_content is not None:
        # Halves of characters, which a server may send as escapes, can't be stored.
        written = json.dumps(result.structured_content, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        if len(written) <= limit:
            structured = json.loads(written)
        else:
            is_whole = False
    return ServerResult(text, structured, result.is_error, len(whole), is_whole)


def _block(block: object) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            kind = "image" if isinstance(block, types.ImageContent) else "audio"
            return f"[{kind} {_short(block.mime_type)}, {len(block.data) * 3 // 4:,} bytes]"
        case types.ResourceLink():
            return f"[link {_short(str(block.uri))}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return f"[file {_short(str(resource.uri))}, {len(resource.blob) * 3 // 4:,} bytes]"
    return "[content of an unknown kind]"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _ends(data: bytes, limit: int) -> str:
    """The beginning and the end of a text, and between them how much is left out; no more than ``limit`` bytes."""
    between = f"\n[... {len(data):,} bytes in all ...]\n"
    room = max(limit - len(between), 0)
    head, tail = data[: room - room // 2], data[len(data) - room // 2 :]
    # Cut inside of a character, its rest goes, too.
    return (head.decode("utf-8", "ignore") + between + tail.decode("utf-8", "ignore"))[:limit]
