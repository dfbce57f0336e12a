"""The pages of rules about runs are run: what stands under Wrong is found where it says, what stands under Right is not."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.rule_page import Example, read_page
from tests.server.lsp.editor import PULLING
from tests.server.lsp.running import RunningEditor, editor_on

from merrow_analysis.rules.effects.pin_rules import TOOL_DIFFERS
from merrow_analysis.rules.fault_rules import FAULT
from merrow_analysis.rules.pages import page_text
from merrow_analysis.rules.registry import Scope, all_rules


async def found(editor: RunningEditor, example: Example, name: str) -> set[tuple[int, str]]:
    """The lines and codes that an editor shows after a run."""
    uri = editor.open(example.text, name)
    await editor.execute("merrow.run", uri=uri, inputs={"PROBLEM": "How many legs has a spider?"}, noStore=True)
    return {(one.range.start.line, str(one.code)) for one in await editor.diagnostics(uri) if one.severity == 1}


async def test_rules_about_runs_are_found_where_their_pages_say(tmp_path: Path) -> None:
    codes = [rule.code for rule in all_rules() if rule.scope is Scope.RUN]
    assert codes == [TOOL_DIFFERS.code, "MW530", "MW531", FAULT.code]
    codes.remove(TOOL_DIFFERS.code)  # it takes a server: test_tool_commands.py
    codes.remove(FAULT.code)  # no text has it
    async with editor_on(tmp_path, capabilities=PULLING) as editor:
        for code in codes:
            text = page_text(code)
            assert text is not None
            page = read_page(text)
            for example in page.of("Wrong"):
                assert {each for _, each in example.expected} == {code}
                assert await found(editor, example, f"{code}_{example.number}.mmd") == example.expected, code
            for example in page.of("Right"):
                assert await found(editor, example, f"{code}_{example.number}.mmd") == set(), code
