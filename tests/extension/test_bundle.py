"""The Python parts that the VSIX brings along: complete, and of the same verdicts as an installed Merrow."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.patience import PATIENCE

from merrow_analysis.check import analyse

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSION = REPOSITORY / "vscode-extension"
LIBRARIES = EXTENSION / "python" / "lib"
CORPUS = REPOSITORY.parent / "shared" / "corpus"
PRIVATE = {"openai", "aiohttp", "httpx2", "uvloop", "mcp", "pydantic", "anyio"}
"""What the extension sets up in private folders, for real endpoints and servers of tools only."""
OPTIONAL = {"html5lib", "math_verify", "sympy", "numpy", "starlette", "uvicorn"}
"""Of the extras `evaluate`, `optimize` and `up`; where they are missing, what needs them says how to install them."""
NOT_SERVED = {
    ("merrow_server.files", "merrow_server.rendering.terminal"): "standard output is the client's",
    (
        "merrow_server.rendering.html_page",
        "merrow_server.rendering.terminal",
    ): "pages are returned or written into files",
}
"""What a module imports for the command line alone, and why the server never gets there."""


@pytest.fixture(scope="module")
def libraries() -> Path:
    subprocess.run([sys.executable, EXTENSION / "scripts" / "bundle_python.py"], check=True, timeout=300)
    return LIBRARIES


def imported(file: Path) -> Iterator[str]:
    """All that a module may ever import, wherever in it, but for type checkers and where it does without."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)) or (
            isinstance(node, ast.Try) and any("ImportError" in ast.dump(one.type) for one in node.handlers if one.type)
        ):
            skipped.update(part for statement in node.body for part in ast.walk(statement))
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.slow
def test_all_that_the_server_may_import_is_bundled(libraries: Path) -> None:
    """From every request and command of the language server, through whatever these import."""
    modules = {
        ".".join(file.relative_to(libraries).with_suffix("").parts).removesuffix(".__init__"): file
        for package in libraries.glob("merrow_*")
        for file in package.rglob("*.py")
    }
    bundled = {path.name.removesuffix(".py") for path in libraries.iterdir()}
    known = bundled | PRIVATE | OPTIONAL | set(sys.stdlib_module_names)
    reached = [name for name in modules if name.startswith(("merrow_server.features", "merrow_server.lsp"))]
    assert len(reached) > 50
    seen, missing = set(reached), set()
    for module in reached:  # It grows meanwhile.
        for name in imported(modules[module]):
            if name in modules and (module, name) not in NOT_SERVED and name not in seen:
                seen.add(name)
                reached.append(name)
            elif name.partition(".")[0] not in known:
                missing.add(f"{module} imports {name}")
    assert missing == set()


def test_nothing_compiled_is_bundled_and_every_package_keeps_its_licence(libraries: Path) -> None:
    compiled = [path for path in libraries.rglob("*") if path.suffix in {".so", ".pyd", ".dll", ".dylib", ".pyc"}]
    # A server that runs from this folder leaves bytecode there, which is not packed.
    assert "**/__pycache__/**" in (EXTENSION / ".vscodeignore").read_text("utf-8").splitlines()
    assert [path for path in compiled if path.parent.name != "__pycache__"] == []
    for metadata in libraries.glob("*.dist-info"):
        assert list(metadata.glob("licenses/*")), metadata.name


class BundledServer:
    """The server as the extension starts it, in a Python that sees no installed package."""

    def __init__(self, libraries: Path, watch: str = "") -> None:
        start = EXTENSION / "bootstrap" / "start_server.py"
        program = ["-c", watch] if watch else [str(start)]
        command = [sys.executable, "-I", "-S", "-X", "utf8", *program, str(libraries)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0

    def __enter__(self) -> BundledServer:
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.tell("initialized", {})
        return self

    def __exit__(self, *_: object) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        self._process.communicate(timeout=PATIENCE)

    def tell(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        self.tell(method, params, id=self._number)
        assert self._process.stdout is not None
        while True:
            message = self._read(self._process.stdout)
            if message.get("id") == self._number and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    @staticmethod
    def _read(stream: BinaryIO) -> dict[str, Any]:
        length = 0
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server ended"
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def verdict(self, uri: str, text: str) -> list[tuple[str, int]]:
        """What the server says of a text: codes with their lines."""
        document = {"uri": uri, "languageId": "mermaid", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        report = self.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        self.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        return sorted((found["code"], found["range"]["start"]["line"]) for found in report["items"])


LABELS = 'flowchart TD\n    A["Custom<br/>(role: x)"] --> B[<b>bold</b> & <script>alert(1)</script>]\n'


def workflows() -> Iterator[tuple[str, str]]:
    yield "labels", LABELS
    for file in sorted([*(REPOSITORY / "examples").glob("*.mmd"), *CORPUS.rglob("*.mmd")]):
        yield file.name, file.read_text("utf-8")


@pytest.mark.slow
def test_the_bundled_server_judges_as_the_installed_one(libraries: Path) -> None:
    judged = 0
    with BundledServer(libraries) as server:
        for name, text in workflows():
            expected = sorted((found.code, found.range.start.line) for found in analyse(text).diagnostics)
            assert server.verdict(f"untitled:{name}", text) == expected, name
            judged += 1
    assert judged > 4


WATCH = """
import runpy, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"nh3", "click", "rich"}:
            sys.stderr.write(f"imported {name}")
            sys.exit(9)
sys.meta_path.insert(0, Watch())
sys.argv[0] = START
runpy.run_path(START, run_name="__main__")
"""


JOBS = """
import importlib, pkgutil, sys
for name in ("nh3", "click", "rich"):
    sys.modules[name] = None
import merrow_server.jobs as jobs
for module in pkgutil.iter_modules(jobs.__path__):
    importlib.import_module(f"merrow_server.jobs.{module.name}")
for page in ("optimizations.search_html", "extractions.extraction_html", "reproductions.page"):
    importlib.import_module(f"merrow_server.{page}")
"""


def test_jobs_of_an_editor_and_their_pages_need_nothing_that_is_not_bundled() -> None:
    done = subprocess.run([sys.executable, "-c", JOBS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_server_never_imports_what_is_not_bundled(libraries: Path) -> None:
    """Also not when labels hold HTML, which the command line's `parse` has nh3 sanitise."""
    watch = f"START = {str(EXTENSION / 'bootstrap' / 'start_server.py')!r}\n{WATCH}"
    with BundledServer(libraries, watch) as server:
        server.verdict("untitled:labels", LABELS)
        document = {"uri": "untitled:a", "languageId": "mermaid", "version": 1, "text": LABELS}
        server.tell("textDocument/didOpen", {"textDocument": document})
        place = {"textDocument": {"uri": "untitled:a"}, "position": {"line": 1, "character": 12}}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
        for method, more in {
            "hover": {},
            "completion": {},
            "definition": {},
            "references": {"context": {"includeDeclaration": True}},
            "documentSymbol": {},
            "codeAction": {"range": whole, "context": {"diagnostics": []}},
            "codeLens": {},
            "formatting": {"options": {"tabSize": 4, "insertSpaces": True}},
            "inlayHint": {"range": whole},
            "semanticTokens/full": {},
        }.items():
            server.ask(f"textDocument/{method}", {**place, **more})
        for command in ("merrow.fix", "merrow.metrics", "merrow.explain"):
            arguments = ["MW105"] if command == "merrow.explain" else ["untitled:a"]
            if command != "merrow.fix":  # which asks the client to apply its edit
                server.ask("workspace/executeCommand", {"command": command, "arguments": arguments})
