"""A server at work on text that is made to keep it busy answers others meanwhile: hover in another file, and cancel."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.runtime.openai_server import Reply, serving
from tests.server.lsp.running import WAIT, editor_on
from tests.server.test_hostile_doors import BACK_AND_FORTH, LONG_NAME, aliases, decision, front, node, shaped

PLAIN = node()
NAMED = {"type": "object", "properties": {"name": {"type": "string", "pattern": BACK_AND_FORTH}}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        shaped(NAMED),
        decision("3999999**3999999 > 1"),
        decision("5**3999998 // 3**2600000 > 1"),
        front({"validators": {"v": {"if": "3999999**3999999 > len(output)"}}}, node(validate="v", attempts=1)),
        f"---\nworkflow:\n  types:\n{aliases('[x]')}---\n{PLAIN}",
    ],
    ids=["pattern", "power", "quotient", "validator", "aliases"],
)
async def test_hover_and_cancel_are_answered(text: str, tmp_path: Path) -> None:
    answer = '{"name": "' + LONG_NAME + '!"}'
    with serving(lambda _: Reply(answer)) as server:
        async with editor_on(tmp_path, server, from_nothing=True) as editor:
            plain, hostile = editor.open(PLAIN, "plain.mmd"), editor.open(text, "hostile.mmd")
            line = next(number for number, said in enumerate(PLAIN.splitlines()) if said.startswith("    A@{"))
            for cancelled in (False, True):
                run = editor.begin("merrow.run", uri=hostile, inputs={"PROBLEM": "x"})
                assert "Custom" in await asyncio.wait_for(editor.hover(plain, line, 4), WAIT)
                if cancelled:
                    await editor.execute("merrow.cancel", uri=hostile)
                await asyncio.wait([run], timeout=WAIT)
                assert run.done()
                run.exception()
            assert "Custom" in await asyncio.wait_for(editor.hover(plain, line, 4), WAIT)
