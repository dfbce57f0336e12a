"""Events are read as the HTML standard (section 9.2) says, however the network cuts them."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.models.event_stream import data_of_events


async def _read(pieces: Sequence[bytes]) -> list[bytes]:
    async def coming() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return [data async for data in data_of_events(coming())]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [b"a", b"b", b"c"]),
        (b"data: a\r\r", [b"a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data:\n\n", [b""]),
        (b": still there\n\nevent: x\nid: 7\nretry: 3\ndata: a\n\n", [b"a"]),
        (b"database: a\n\ndatum\n\n", []),
        (b"data\n\ndata\ndata: a\n\n", [b"", b"\na"]),
        (codecs.BOM_UTF8 + b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"\n" + codecs.BOM_UTF8 + b"data: a\n\n", []),
        (b"\n\n\ndata: a\n\n\n\n", [b"a"]),
        (b"data: unfinished", []),
        (b"data: a\n\ndata: unfinished\n", [b"a"]),
        (b"", []),
        ("data: é 漢 \u2028\n\n".encode(), ["é 漢 \u2028".encode()]),
    ],
)
async def test_an_event_is_its_lines_of_data(body: bytes, data: list[bytes]) -> None:
    assert await _read([body]) == data
    assert await _read([bytes([byte]) for byte in body]) == data


_LINES = st.lists(
    st.sampled_from([b"data: a", b"data:b", b"data", b": c", b"event: x", b"", b"", b"data: {}"]), max_size=12
)


@given(_LINES, st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=12, max_size=12), st.data())
async def test_where_a_body_is_cut_and_how_lines_end_changes_nothing(
    lines: list[bytes], ends: list[bytes], data: st.DataObject
) -> None:
    plain = b"".join(line + b"\n" for line in lines)
    # A line that ends with a carriage return is followed by one that is not empty, or both would be read as one end.
    body = b"".join(
        line + (b"\r\n" if end == b"\r" and following == b"" else end)
        for line, end, following in zip(lines, ends, [*lines[1:], b"end"], strict=False)
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert await _read(pieces) == await _read([plain])
