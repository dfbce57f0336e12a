"""What ARCHITECTURE.md and the page of the rooms name is there, and the walks go through the modules that they name."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.server.lsp.editor import Editor
from tests.server.program import in_process

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [next((ROOT / part).glob("merrow_*")) for part in ("analysis", "runtime", "optimizer", "server")]
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
ROOMS = ROOT / "docs/contributing/rooms.md"
GUIDES = sorted(set((ROOT / "docs/contributing").glob("*.md")) - {ROOMS})
ELSEWHERE = {"ast.literal_eval", "click.echo", "place.city", "NAME.cases.yaml", "merrow.tools.json", "prompt.py"}
"""What is named and is not this repository's: Python's, a library's, an example's."""


class Names:
    """What a package defines: modules by their dotted names, and what each module and class has."""

    def __init__(self) -> None:
        self.modules: dict[str, set[str]] = {}
        self.classes: dict[str, set[str]] = {}
        self.words: set[str] = set()
        for package in (*PACKAGES, ROOT / "benchmarks"):
            for path in (one for one in package.rglob("*.py") if "site-packages" not in one.parts):
                parts = path.relative_to(package.parent).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                self.words.update(parts)
                self._read(".".join(parts), ast.parse(path.read_text("utf-8")))

    def _read(self, module: str, tree: ast.Module) -> None:
        self.modules[module] = set(_defined(tree.body))
        for node in ast.walk(tree):
            match node:
                case ast.ClassDef():
                    own = _defined(node.body)
                    set_in_it = (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))
                    self.classes.setdefault(node.name, set()).update(own, set_in_it)
                    self.words.add(node.name)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.words.add(node.name)
                    self.words.update(one.arg for one in (*node.args.args, *node.args.kwonlyargs))
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    self.words.add(name)
                case ast.Constant(value=str() as text) if len(text) < 40:
                    self.words.add(text)
                case ast.Constant(value=str() as text):
                    self.words.update(re.findall(r"CREATE TABLE (\w+)", text))

    def has(self, name: str) -> bool:
        """Whether a dotted name, of which packages at its beginning may be left out, is a module, or something in one."""
        room, _, last = name.rpartition(".")
        if self._modules(name) or any(last in self.modules[module] for module in self._modules(room)):
            return True
        return last in self.classes.get(room.rpartition(".")[2], ())

    def _modules(self, name: str) -> list[str]:
        return [module for module in self.modules if module == name or module.endswith(f".{name}")]


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                yield from ((one.asname or one.name) for one in names)
            case ast.If(body=inner):
                yield from _defined(inner)


@cache
def names() -> Names:
    return Names()


@cache
def _paths() -> frozenset[str]:
    """All files and folders, from the root, from each package and from the extension's parts."""
    extension = ROOT / "vscode-extension"
    beginnings = (ROOT, *PACKAGES, *(package.parent for package in PACKAGES), extension, extension / "src")
    skipped = {"node_modules", "__pycache__", "build", "dist"}
    found = set()
    for path in _files(ROOT, skipped):
        found.add(path.name)
        for beginning in beginnings:
            if path.is_relative_to(beginning):
                found.add(path.relative_to(beginning).as_posix().removesuffix(".py"))
                found.add(path.relative_to(beginning).as_posix())
    return frozenset(found)


def _files(folder: Path, skipped: set[str]) -> Iterator[Path]:
    for path in folder.iterdir():
        # Of the folders with a dot only two are ours; the others are caches, some of them of a hundred thousand files.
        if path.name in skipped or (
            path.name.startswith(".") and path.is_dir() and path.name not in (".ci", ".github")
        ):
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _files(path, skipped)


def _is_there(span: str) -> bool:
    if span in ELSEWHERE:
        return True
    command = re.fullmatch(r"make ([a-z]+)", span)
    if command is not None:
        return re.search(rf"^{command[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE) is not None
    if re.fullmatch(r"[\w./*-]+/[\w./*-]*|[\w-]+\.(?:py|ts|mjs|toml|json|md)", span):
        return span.removesuffix("/*").removesuffix("/") in _paths()
    if re.fullmatch(r"merrow\.[A-Za-z]+", span):
        return span in names().words or f'"{span}"' in (ROOT / "vscode-extension/package.json").read_text("utf-8")
    if re.fullmatch(r"[A-Za-z_]\w*(?:\.\w+)+", span):
        return names().has(span)
    if re.fullmatch(r"[A-Za-z_]\w*", span):
        return span in names().words
    return True


def _spans(text: str) -> set[str]:
    """Code in a page's sentences; blocks of code are examples."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return {" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "least"), [(ARCHITECTURE, 100), (ROOMS, 250)], ids=["map", "rooms"])
def test_what_the_page_names_is_there(page: Path, least: int) -> None:
    spans = _spans(page.read_text("utf-8"))
    assert len(spans) > least
    assert sorted(span for span in spans if not _is_there(span)) == []


def test_the_map_is_short_and_its_folders_are_there() -> None:
    text = ARCHITECTURE.read_text("utf-8")
    assert len(text.encode()) <= 12_000
    folders = re.findall(r"^    ([\w-]+/(?:[\w-]+/)?)(?=\s)", text, re.MULTILINE)
    assert len(folders) >= 5
    assert all((ROOT / folder).is_dir() for folder in folders)


@pytest.mark.slow
@pytest.mark.parametrize(
    "span", ["graph.typed_graph", "check.Analyser.renew", "cli/runs_all", "Frontier.patch", "trial_liveness"]
)
def test_what_is_not_there_would_be_noticed(span: str) -> None:
    assert not _is_there(span)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_files_that_a_page_for_contributors_names_are_there(page: Path) -> None:
    # The pages make new files, whose names are theirs alone.
    own = {"doubling", "role_rules", "MW399", "declaration", "test_declaration", "summarise"}
    named = {span for span in _spans(page.read_text("utf-8")) if "/" in span and " " not in span}
    old = {span for span in named if Path(span).stem not in own and "textDocument" not in span}
    assert len(old) >= 5
    assert sorted(span for span in old if not _is_there(span)) == []


# The walks


class Walk:
    """Which functions run, as the dotted names of their modules with their own names behind."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def __enter__(self) -> Walk:
        sys.setprofile(self._note)
        threading.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self.seen.add((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))

    def goes_through(self, name: str) -> bool:
        """Whether a function, or any one of a module or class, was called."""
        return any(
            f".{module}.".endswith(f".{name}.") or f".{name}." in f".{module}.{function}."
            for module, function in self.seen
            if function != "<module>"
        )


def _paragraph(heading: str) -> str:
    pages = f"{ARCHITECTURE.read_text('utf-8')}\n\n{ROOMS.read_text('utf-8')}"
    found = re.search(rf"^\*\*{heading}\.\*\*(.*?)\n\n", pages, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def _modules_of(heading: str) -> list[str]:
    """What a walk names that is called, and not only made: modules and functions, in the order of the page."""
    spans = (span for span in re.findall(r"`([^`]+)`", _paragraph(heading)) if re.fullmatch(r"[\w.]+", span))
    return [span for span in dict.fromkeys(spans) if "." in span or span.islower()]


FLOW = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: solver)"]:::CustomOp
    B["Review<br/>"]:::ReviewOp
    C["Revise<br/>"]:::ReviseOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    PROBLEM -->|problem| B
    PROBLEM -->|problem| C
    A -->|solution| B
    A -->|solution| C
    B -->|feedback| C
    C --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    classDef ReviewOp fill:#ddd
    classDef ReviseOp fill:#ddd
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.mmd").write_text(FLOW, "utf-8")
    return tmp_path


def _keystroke(_folder: Path, _capsys: Any) -> Walk:
    editor = Editor()
    try:
        uri = editor.open(FLOW)
        before = editor.codes(uri)
        place = editor.find(uri, "    C --> RETURN", len("    C --> RETURN"))
        with Walk() as walk:
            editor.change(uri, {"range": {"start": place, "end": place}, "text": "X"})
            assert editor.codes(uri) != before
        return walk
    finally:
        editor.close()


def _mutation(_folder: Path, _capsys: Any) -> Walk:
    editor = Editor()
    try:
        uri = editor.open(FLOW)
        editor.codes(uri)
        place = editor.find(uri, 'A["Custom')
        context = {"diagnostics": [], "only": ["refactor.rewrite.merrow"], "triggerKind": 1}
        where = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}}
        with Walk() as walk:
            first, *_ = editor.request("textDocument/codeAction", {**where, "context": context})
            assert editor.request("codeAction/resolve", first)["edit"]["documentChanges"]
        return walk
    finally:
        editor.close()


def _item(folder: Path, capsys: Any) -> Walk:
    (folder / "sums.jsonl").write_text('{"id": "six", "problem": "What is 6 times 7?", "answer": "42"}\n', "utf-8")
    scored = ("--dataset", "sums.jsonl", "--gold", "answer", "--metric", "numeric", "--base-url", "offline")
    with Walk() as walk:
        assert in_process(capsys, "evaluate", "flow.mmd", *scored).code == 0
    return walk


def _run(_folder: Path, capsys: Any) -> Walk:
    with Walk() as walk:
        done = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", "offline")
    assert done.code == 0
    return walk


def _resume(_folder: Path, capsys: Any) -> Walk:
    run = ("run", "flow.mmd", "--input", "problem=1", "--base-url", "offline")
    assert in_process(capsys, *run, "--budget-tokens", "300").code != 0
    (identity, *_), *_ = (line.split() for line in in_process(capsys, "runs").out.splitlines())
    with Walk() as walk:
        assert in_process(capsys, "resume", identity, "--budget-tokens", "100000").code == 0
    return walk


WALKS: dict[str, Callable[[Path, Any], Walk]] = {
    "A key is pressed": _keystroke,
    "A mutation's quick fix": _mutation,
    "An evaluation item": _item,
    "A run": _run,
    "A resume": _resume,
}


@pytest.mark.slow
@pytest.mark.parametrize("heading", WALKS)
def test_a_walk_goes_through_what_it_names(heading: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = _modules_of(heading)
    assert len(named) >= 3
    walk = WALKS[heading](folder, capsys)
    assert [name for name in named if not walk.goes_through(name)] == []
