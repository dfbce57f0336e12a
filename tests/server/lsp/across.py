"""Folders of workflows that call each other, some of them open in an editor, and generated ones."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pygls.uris import to_fs_path
from tests.server.lsp.editor import MODERN, Editor, range_of

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.text import TextEdit, apply_edits, split_lines
from merrow_runtime.program.workspace import FileProvider

Json = dict[str, Any]
CURSOR = "<|>"


class Files:
    """A folder of texts and an editor on it; what the editor is told to change is changed, and saved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "merrow.toml").touch()  # All of the folder is one workspace: files in it may call each other.
        self.editor = Editor(MODERN, folder)
        self.opened: dict[str, str] = {}

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self.editor.close()

    def write(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    @property
    def texts(self) -> dict[str, str]:
        found = {}
        for path in sorted([*self.folder.rglob("*.mmd"), *self.folder.rglob("*.md")]):
            data = path.read_bytes()
            if b"\xff" not in data:
                found[path.relative_to(self.folder).as_posix()] = data.decode()
        return found

    def open(self, *names: str) -> None:
        for name in names:
            if name not in self.opened:
                self.opened[name] = self.editor.open(self.texts[name], name)

    def ask(self, method: str, name: str, mark: str, **more: Any) -> Any:
        """What the server answers at a place in an open file: ``mark`` is a piece of its text with a cursor in it."""
        before, _, after = mark.partition(CURSOR)
        place = self.editor.at(self.opened[name], before + after, len(before))
        return self.editor.request(method, {**place, **more})

    def ask_at(self, method: str, name: str, position: Json, **more: Any) -> Any:
        """What the server answers at a position in an open file."""
        document = {"uri": self.opened[name]}
        return self.editor.request(method, {"textDocument": document, "position": position, **more})

    def rename(self, name: str, mark: str, new: str) -> None:
        self.apply(self.ask("textDocument/rename", name, mark, newName=new))

    def apply(self, edit: Json | None) -> None:
        """Change the files as an editor does, and save them; those outside of the folder must not be among them."""
        for change in (edit or {}).get("documentChanges", []):
            uri = change["textDocument"]["uri"]
            path = Path(to_fs_path(uri) or "")
            lines = split_lines(path.read_bytes().decode())
            encoding = self.editor.encoding
            edits = [TextEdit(range_of(lines, one["range"], encoding), one["newText"]) for one in change["edits"]]
            text = apply_edits("".join(lines), edits)
            assert path.is_relative_to(self.folder)
            path.write_bytes(text.encode())
            if uri in self.opened.values():
                self.editor.change(uri, {"text": text})
        self.editor.notify(
            "workspace/didChangeWatchedFiles",
            {"changes": [{"uri": (self.folder / name).as_uri(), "type": 2} for name in self.texts]},
        )

    def move(self, *moves: tuple[str, str]) -> None:
        """Rename files or folders as an editor does: the server's edits first."""
        uris = [{"oldUri": self.editor.uri(old), "newUri": self.editor.uri(new)} for old, new in moves]
        self.apply(self.editor.request("workspace/willRenameFiles", {"files": uris}))
        for name in list(self.opened):
            self.editor.close_document(self.opened.pop(name))
        for old, new in moves:
            (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / old).rename(self.folder / new)

    # What the files say

    def analysis(self, name: str) -> Analysis:
        path = self.folder / name
        provider = FileProvider(path.parent, self.folder)
        return analyse(path.read_bytes().decode(), path=name, provider=provider)

    def findings(self) -> dict[str, Counter[str]]:
        """The codes of what is found in each file."""
        names = [name for name in self.texts if name.endswith(".mmd")]
        return {name: Counter(one.code for one in self.analysis(name).diagnostics) for name in names}

    def meanings(self, old: str, new: str) -> dict[str, Any]:
        """What each file means, with nodes by their number, and as if ``old`` and ``new`` were the same name."""
        return {name: meaning(self.analysis(name), old, new) for name in self.texts if name.endswith(".mmd")}

    def places(self) -> list[tuple[str, Json, str]]:
        """Everything named in the files: file, position and name."""
        found = []
        for name in self.texts:
            analysis = self.analysis(name)
            for block in analysis.diagram.blocks:
                for place in occurrences_in(analysis, block):
                    start = place.range.start
                    found.append((name, {"line": start.line, "character": start.column}, place.written))
        return found


def meaning(analysis: Analysis, old: str, new: str) -> Any:
    typed = analysis.typed
    if typed is None:
        return None

    def named(text: str | None) -> str | None:
        return None if text is None else re.sub(rf"(?<!\w)({re.escape(old)}|{re.escape(new)})(?!\w)", "_", text)

    numbers = {node.id: number for number, node in enumerate(typed.nodes)}
    nodes = [
        (
            node.kind,
            named(node.operator),
            sorted(
                (named(port.name) or "", named(port.type) or "", port.required, port.many) for port in node.input_ports
            ),
            sorted((named(output) or "", named(type_) or "") for output, type_ in node.outputs.items()),
        )
        for node in typed.nodes
    ]
    edges = [
        (
            numbers[edge.source.id],
            numbers[edge.target.id],
            [(named(feed.output), named(feed.port), named(feed.type)) for feed in edge.feeds],
            edge.case,
        )
        for edge in typed.edges
    ]
    return nodes, edges


@st.composite
def workspaces(draw: st.DrawFn) -> dict[str, str]:
    """Two to four files that check; each may call those after it."""
    count = draw(st.integers(2, 4))
    names = [draw(st.sampled_from(["", "sub/", "a b/"])) + f"f{number}.mmd" for number in range(count)]
    ports = [(draw(st.booleans()), draw(st.booleans()), draw(st.booleans())) for _ in names]
    return {name: draw(_workflow(number, names, ports)) for number, name in enumerate(names)}


@st.composite
def _workflow(draw: st.DrawFn, number: int, names: list[str], ports: list[tuple[bool, bool, bool]]) -> str:
    has_level, has_grade, has_record = ports[number]
    lines = ["    PROBLEM([Problem]):::Interface"]
    edges = ["PROBLEM --> A"]
    returns = ", returns: Place" if has_record else ""
    lines.append(f'    A@{{ op: Custom, prompt: "think"{returns} }}')
    if has_level:
        lines.append("    LEVEL([Level]):::Interface")
        edges.append("LEVEL --> A")
    last = "A"
    if has_record:
        last = "B"
        lines.append('    B@{ op: Custom, prompt: "more" }')
        edges.append(draw(st.sampled_from(["A -->|city:input| B", "A -->|spot.name:input| B", "A -->|response:| B"])))
        if draw(st.booleans()):
            lines.append('    D{good?}:::DecisionOp\n    D@{ if: "place.rank > 3 and place.spot.name" }')
            edges += ["A -->|place| D", "D -->|yes:after| B", "D -->|no:after| E"]
            lines.append('    E@{ op: Custom, prompt: "other" }')
            edges.append("A -->|city:input| E")
            edges.append("E --> RETURN")
    for other in range(number + 1, len(names)):
        if not draw(st.booleans()):
            continue
        call = f"C{other}"
        path = "./" * draw(st.booleans()) + _relative(names[number], names[other])
        if draw(st.booleans()):
            lines.append(f'    {call}["Call<br/>(workflow: {path})"]:::CallOp')
        else:
            lines.append(f'    {call}@{{ op: Call, workflow: "{path}" }}')
        level, grade, _ = ports[other]
        edges.append(f"PROBLEM -->|PROBLEM| {call}" if level or draw(st.booleans()) else f"PROBLEM --> {call}")
        if level:
            edges.append(f"{last} -->|LEVEL| {call}")
        output = draw(st.sampled_from(["RETURN:", "GRADE:"])) if grade else "RETURN:"
        following = f"F{other}"
        lines.append(f'    {following}@{{ op: Custom, prompt: "then" }}')
        edges += [f"{call} -->|{output}input| {following}", f"{last} --> {following}"]
        last = following
    lines.append("    RETURN([Return]):::Interface")
    edges.append(f"{last} --> RETURN")
    if has_grade:
        lines.append("    GRADE([Grade]):::Interface")
        edges.append(f"{last} --> GRADE")
    types = "    Place: {city: Text, rank: Number, spot: Spot}\n    Spot: {name: Text}\n"
    front = f"---\nworkflow:\n  types:\n{types}---\n" if has_record else ""
    styles = ["Interface", "DecisionOp", "CallOp"]
    body = "\n".join([*lines, *("    " + edge for edge in edges), *(f"    classDef {one} fill:#eee" for one in styles)])
    return f"{front}flowchart TD\n{body}\n"


def _relative(caller: str, called: str) -> str:
    above, _, _ = caller.rpartition("/")
    folder, _, file = called.rpartition("/")
    if above == folder:
        return file
    return ("../" if above else "") + called
