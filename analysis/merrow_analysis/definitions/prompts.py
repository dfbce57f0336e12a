"""The prompts a workflow can name: those of its front matter, of a YAML file it names, and of ``prompt.py`` beside it.

A ``prompt.py`` is MermaidFlow's form: constants ``NAME = "..."``. It is read as a syntax tree and never executed; only
texts that are in it are prompts, alone or joined by ``+``. Names count regardless of case, so ``role:
simple_solver_1`` finds ``SIMPLE_SOLVER_1``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from merrow_analysis.bounded.python_source import LONGEST, parse_python
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.settings import WorkflowSettings, read_prompt
from merrow_analysis.definitions.yaml.yaml_text import read_bounded_yaml
from merrow_analysis.text import Position, Range, Span, split_lines

MODULE = "prompt.py"
"""The file of prompts that MermaidFlow puts beside a workflow."""

_NUMBER = re.compile(r"(?: \d+)+\s*$")
_NOT_IN_WORDS = re.compile(r"[_\s-]+")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and where it is defined. Its ``text`` is a `Template` where it has variables; ``file`` is None for the front
    matter, ``range`` the name's place in the file.

    The range of a front matter's prompt is None: `WorkflowSettings.document` has its place.
    """

    name: str
    text: str
    file: str | None = None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class ResourceProblem:
    """A file that can't be used: its path as the workflow names it, and a sentence.

    ``files`` is where it was looked for, None for a file that was read.
    """

    path: str
    message: str
    files: Provider | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PromptFile:
    """The prompts of one file by casefolded name; ``unusable`` names (casefolded) and why they are no prompts."""

    prompts: Mapping[str, Prompt]
    unusable: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


@dataclass(slots=True)
class PromptBook:
    """All prompts of a workflow, by casefolded name; ``declared`` says that there is any place that has prompts.

    Where a name is in several places, the front matter takes precedence over its YAML file, and that before ``prompt.py``.
    """

    prompts: dict[str, Prompt] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    problems: tuple[ResourceProblem, ...] = ()
    declared: bool = False

    def find(self, role: str) -> Prompt | None:
        """The prompt of this name, regardless of case."""
        return self.prompts.get(role.strip().casefold())


def collect_prompts(settings: WorkflowSettings, provider: Provider | None = None) -> PromptBook:
    """Gather the prompts that the settings and the files beside the workflow give. Never raises.

    Without a provider only the front matter's own prompts are known; then a named prompt file is no problem.
    """
    book = PromptBook(declared=bool(settings.prompts))
    problems: list[ResourceProblem] = []
    for name, text in settings.prompts.items():
        book.prompts.setdefault(name.strip().casefold(), Prompt(name, text))
    if provider is not None:
        if settings.prompt_file is not None:
            _add(book, settings.prompt_file, provider, problems)
        if provider.exists(MODULE):
            _add(book, MODULE, provider, problems)
    book.problems = tuple(problems)
    return book


def _add(book: PromptBook, path: str, provider: Provider, problems: list[ResourceProblem]) -> None:
    try:
        text = provider.read(path)
    except ResourceError as error:
        problems.append(ResourceProblem(path, str(error), provider))
        book.declared = True
        return
    result = read_prompt_module(text, path) if path.endswith(".py") else read_prompt_yaml(text, path)
    if result.problem is not None:
        problems.append(ResourceProblem(path, result.problem))
        book.declared = True
    for key, prompt in result.prompts.items():
        book.prompts.setdefault(key, prompt)
    for key, reason in result.unusable.items():
        book.unusable.setdefault(key, reason)
    book.declared = book.declared or bool(result.prompts)


@lru_cache(maxsize=32)
def read_prompt_yaml(text: str, path: str) -> PromptFile:
    """Read a YAML file of prompts: a mapping of names to texts, at the top or below ``prompts:``."""
    result = read_bounded_yaml(text)
    if result.error is not None:
        line = text.count("\n", 0, result.error.offset) + 1
        return PromptFile({}, problem=f"{path} is not valid YAML at line {line}: {result.error.message}")
    value = result.value
    inner = value.get("prompts") if isinstance(value, dict) else None
    entries = inner if isinstance(inner, dict) else value
    if entries is None:
        return PromptFile({})
    if not isinstance(entries, dict):
        return PromptFile({}, problem=f"{path} must be a mapping of prompt names to texts.")
    positions = _Positions(text)
    prompts: dict[str, Prompt] = {}
    unusable: dict[str, str] = {}
    for name, prompt in entries.items():
        prompt_text = read_prompt(prompt)
        if prompt_text is not None:
            place = result.place(entries, name)
            where = _range(place[0], positions) if place else None
            prompts.setdefault(name.casefold(), Prompt(name, prompt_text, path, where))
        else:
            unusable[name.casefold()] = f"`{name}` in {path} is not a text"
    return PromptFile(prompts, unusable)


class _Positions:
    """Turns offsets into positions, for offsets that only grow."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        for line in split_lines(text):
            self._starts.append(self._starts[-1] + len(line))
        self._line = 0

    def at(self, offset: int) -> Position:
        while self._line + 1 < len(self._starts) - 1 and self._starts[self._line + 1] <= offset:
            self._line += 1
        while self._starts[self._line] > offset:
            self._line -= 1
        return Position(self._line, offset - self._starts[self._line])


def _range(span: Span, positions: _Positions) -> Range:
    return Range(positions.at(span[0]), positions.at(span[1]))


@lru_cache(maxsize=32)
def read_prompt_module(text: str, path: str = MODULE) -> PromptFile:
    """Read the constants of a Python file without executing it. Never raises; a name's last assignment counts."""
    if len(text) > LONGEST:
        return PromptFile({}, problem=f"{path} is larger than {LONGEST >> 20} MB and is not read.")
    try:
        module = parse_python(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        if error.lineno is None:
            return PromptFile({}, problem=f'{path} can\'t be read as Python; keep to constants such as NAME = "...".')
        return PromptFile({}, problem=f"{path} is not valid Python: line {error.lineno or 1}.")
    prompts: dict[str, Prompt] = {}
    unusable: dict[str, str] = {}
    lines = split_lines(text.removeprefix("\ufeff"))
    for target, value in _assignments(module):
        key = target.id.casefold()
        constant = _constant(value)
        if constant is None:
            prompts.pop(key, None)
            unusable[key] = f"`{target.id}` in {path} is not plain text"
        else:
            unusable.pop(key, None)
            line = target.lineno - 1
            # The syntax tree counts columns in bytes.
            column = len(lines[line].encode("utf-8", "replace")[: target.col_offset].decode("utf-8", "replace"))
            place = Range(Position(line, column), Position(line, column + len(target.id)))
            prompts[key] = Prompt(target.id, constant, path, place)
    return PromptFile(prompts, unusable)


def _assignments(module: ast.Module) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The module's own assignments to names, in order."""
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target, statement.value


def _constant(node: ast.expr) -> str | None:
    """The text that an expression of literals and ``+`` makes; None for anything else."""
    pieces: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += (part.right, part.left)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            pieces.append(part.value)
        else:
            return None
    return "".join(pieces)


def words_of_role(role: str) -> str:
    """The sentence that a role without a prompt stands for: its words, without the number that tells it from others."""
    words = _NUMBER.sub("", _NOT_IN_WORDS.sub(" ", role)).strip() or role
    return f"{words[:1].upper()}{words[1:]}."
