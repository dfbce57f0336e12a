"""What ``make demo`` shows of one small workflow: a mistake and its quick fix, a safe mutation, and a run whose steps remember.

The first two come from a real ``merrow serve``, asked as an editor asks it (Language Server Protocol). The run needs neither
key nor network: the embedded offline model answers.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

NAME = "flow.mmd"
FLOW = """\
---
title: Solve a problem and check the answer
workflow:
  memory: all
  prompts:
    solve: Solve the problem step by step.
    check: Check the answer. Give the right one.
---
flowchart LR
    PROBLEM([Problem]):::Interface
    SOLVE["Custom<br/>(role: slove)"]:::CustomOp
    CHECK["Custom<br/>(role: check)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SOLVE -->|input| CHECK --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
"""
"""A workflow with a mistake in it: a role that no prompt is written for."""
PROBLEM = "What is 6 times 7?"
MUTATION = "refactor.rewrite.merrow"
"""The kind of code action that safe mutations have."""
PATIENCE = 60
"""Seconds after which a server that says nothing has failed."""


class Editor:
    """The part of an editor that the demo needs: one open file, its diagnostics, and the menu at a place."""

    def __init__(self, path: Path) -> None:
        self.path, self.uri, self.text, self.version = path, path.as_uri(), path.read_text("utf-8"), 1
        self._client = LanguageClient("merrow-demo", "1")
        self._published: asyncio.Queue[list[types.Diagnostic]] = asyncio.Queue()

        def publish(params: types.PublishDiagnosticsParams) -> None:
            self._published.put_nowait(list(params.diagnostics))

        self._client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)

    async def open(self) -> list[types.Diagnostic]:
        """Start the server, open the file, and return what is wrong with it."""
        environment = {**os.environ, **_own_state(self.path.parent)}
        await self._client.start_io(sys.executable, "-P", "-m", "merrow_server", "serve", env=environment)
        menu = types.ClientCodeActionLiteralOptions(types.ClientCodeActionKindOptions(["quickfix", "refactor"]))
        resolved = types.ClientCodeActionResolveOptions(["edit"])
        actions = types.CodeActionClientCapabilities(
            code_action_literal_support=menu, data_support=True, is_preferred_support=True, resolve_support=resolved
        )
        able = types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(code_action=actions))
        await self._client.initialize_async(
            types.InitializeParams(capabilities=able, root_uri=self.path.parent.as_uri())
        )
        self._client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(self.uri, "mermaid", self.version, self.text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await asyncio.wait_for(self._published.get(), PATIENCE)

    async def menu(self, at: types.Range, kind: str, about: Sequence[types.Diagnostic] = ()) -> list[types.CodeAction]:
        """The code actions of a kind at a place."""
        context = types.CodeActionContext(about, only=[kind], trigger_kind=types.CodeActionTriggerKind.Invoked)
        asked = types.CodeActionParams(types.TextDocumentIdentifier(self.uri), at, context)
        found = await asyncio.wait_for(self._client.text_document_code_action_async(asked), PATIENCE)
        return [action for action in found or () if isinstance(action, types.CodeAction)]

    async def choose(self, action: types.CodeAction) -> list[types.Diagnostic]:
        """Carry out a code action, and return what is wrong with the file then."""
        chosen = action if action.edit else await self._client.code_action_resolve_async(action)
        self.text = edited(self.text, _edits(chosen.edit))
        self.version += 1
        change = types.TextDocumentContentChangeWholeDocument(self.text)
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        self.path.write_text(self.text, "utf-8")
        return await asyncio.wait_for(self._published.get(), PATIENCE)

    async def close(self) -> None:
        """End the server."""
        await self._client.shutdown_async(None)
        self._client.exit(None)
        await self._client.stop()  # type: ignore[no-untyped-call]

    def place_of(self, word: str) -> types.Range:
        """Where a word is first written."""
        line = next(number for number, text in enumerate(self.text.splitlines()) if word in text)
        place = types.Position(line, self.text.splitlines()[line].index(word))
        return types.Range(place, place)


def _edits(change: types.WorkspaceEdit | None) -> list[types.TextEdit]:
    """The edits of the one file that is open."""
    if change is None:
        raise SystemExit("The demo failed: the server did not say what to change.")
    found = [edit for edits in (change.changes or {}).values() for edit in edits]
    for part in change.document_changes or ():
        if isinstance(part, types.TextDocumentEdit):
            found += [edit for edit in part.edits if isinstance(edit, types.TextEdit)]
    return found


def edited(text: str, edits: Sequence[types.TextEdit]) -> str:
    """``text`` (ASCII) with edits made, the last one first so that the places of the others stay."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places = [(starts[e.range.start.line] + e.range.start.character, e) for e in edits]
    for start, edit in sorted(places, key=lambda place: place[0], reverse=True):
        text = text[:start] + edit.new_text + text[starts[edit.range.end.line] + edit.range.end.character :]
    return text


def colour() -> bool:
    """Whether somebody watches in colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(style: str, text: str) -> str:
    """``text`` in an ANSI style, where that is seen."""
    return f"\033[{style}m{text}\033[0m" if colour() else text


def say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def show_change(title: str, before: str, after: str) -> None:
    """A chosen action with the lines that it changed."""
    say(f"\nChosen: {paint('1;32', title)}")
    for line in list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]:
        if not line.startswith("@@"):
            say(f"    {paint('32' if line[0] == '+' else '31', line)}")


async def in_an_editor(path: Path) -> None:
    """A mistake, its quick fix, and a safe mutation, over the Language Server Protocol."""
    editor = Editor(path)
    say(f"{paint('1;36', '1. A mistake and its quick fix')} (from merrow serve, as any editor shows it)\n")
    say("\n".join(f"    {line}" for line in FLOW.splitlines()))
    findings = await editor.open()
    for one in findings:
        say(
            f"\n{NAME}:{one.range.start.line + 1}:{one.range.start.character + 1} {paint('1;31', str(one.code))} {one.message}"
        )
    fixes = await editor.menu(findings[0].range, "quickfix", findings[:1])
    say("\nQuick fixes:\n" + "\n".join(f"    {fix.title}" for fix in fixes))
    before, fix = editor.text, next((fix for fix in fixes if fix.is_preferred), fixes[0])
    left = await editor.choose(fix)
    show_change(fix.title, before, editor.text)
    say(f"\nFindings now: {len(left)}")

    say(f"\n{paint('1;36', '2. A safe mutation')} (from the same menu; a valid workflow stays valid)\n")
    mutations = [one for one in await editor.menu(editor.place_of("SOLVE["), MUTATION) if one.edit or one.data]
    say("Offered at SOLVE:\n" + "\n".join(f"    {one.title}" for one in mutations))
    before, mutation = editor.text, next((one for one in mutations if one.title.startswith("Plan")), mutations[-1])
    left = await editor.choose(mutation)
    show_change(mutation.title, before, editor.text)
    say(f"\nFindings now: {len(left)}")
    await editor.close()


def merrow(folder: Path, *arguments: str) -> str:
    """Run the program in ``folder``, show the command, and return what it printed."""
    say(paint("1;36", "$ merrow " + " ".join(f'"{word}"' if " " in word else word for word in arguments)))
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", "merrow_server", *arguments],
        cwd=folder,
        env={**os.environ, **_own_state(folder), **({"FORCE_COLOR": "1"} if colour() else {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"The demo failed: {done.stdout}")
    return done.stdout


def _own_state(folder: Path) -> dict[str, str]:
    """A journal and settings of the demo's own: nothing that is shown here joins the user's runs."""
    return {"MERROW_STATE_DIR": str(folder / "state"), "MERROW_CONFIG_DIR": str(folder / "config")}


def run_with_memory(folder: Path) -> None:
    """The workflow as it is now, run; then what its last step remembered."""
    say(
        f"\n{paint('1;36', '3. A run whose steps remember')} (memory: all; the embedded model answers, without key or cost)\n"
    )
    say(merrow(folder, "run", NAME, "--input", f"problem={PROBLEM}", "--base-url", "offline"))
    shown = merrow(folder, "show", NAME, "--node", "CHECK")
    say("What CHECK remembered of the steps before it:\n")
    memory = re.findall(r"^memory of .*?(?=^\S+ \(|\Z)", plain(shown), re.MULTILINE | re.DOTALL)
    if not memory:
        raise SystemExit(f"The demo failed: CHECK remembers nothing.\n{shown}")
    say("\n".join(f"    {line}" for part in memory for line in part.strip().splitlines()))
    say("\nThat is all. docs/tutorial.md continues from here.")


def plain(text: str) -> str:
    """``text`` without ANSI styles."""
    return re.sub(r"\033\[[\d;]*m", "", text)


def main() -> int:
    """The show; 0 unless something is broken that should not be."""
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / NAME
        path.write_text(FLOW, "utf-8")
        asyncio.run(in_an_editor(path))
        run_with_memory(path.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
