"""Tasks that ask for a Python function: HumanEval and MBPP, their hidden tests, and the visible ones of a file beside them.

What the tests need from a task's prompt (imports, helper functions) is part of each test: a solution that defines a helper of
its own must not decide what the tests compare with.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from merrow_optimizer.evaluation.data.drafts import FieldFault, ItemDraft
from merrow_optimizer.evaluation.data.formats import DataRecord
from merrow_optimizer.evaluation.data.problems import Collector
from merrow_runtime.operators.formats.python_code import parsed


def humaneval_item(fields: dict[str, Any]) -> ItemDraft:
    """An item whose solution is the prompt, which ends inside a function, and the rest of that function."""
    name = _entry_point(fields)
    prompt = fields["prompt"]
    preamble = preamble_of(prompt, name)
    test = fields["test"]
    tree = parsed(test)
    if tree is None:
        raise FieldFault("The test isn't Python.", "test")
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
        raise FieldFault("The test defines no function `check(candidate)`.", "test")
    _must_assert(tree, ("candidate", name), "test")
    extra = {
        "entry_point": name,
        "prompt": prompt,
        "preamble": preamble,
        "tests": [f"{preamble}{test}\n\ncheck(candidate)\n"],
    }
    return ItemDraft(fields["task_id"], _inputs(prompt, name), prompt + fields["canonical_solution"], extra)


def mbpp_item(fields: dict[str, Any]) -> ItemDraft:
    """An item with a list of tests, each an assertion or some."""
    name = _entry_point(fields)
    imports = fields.get("test_imports") or []
    for texts, field in ((imports, "test_imports"), (fields["test_list"], "test_list")):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise FieldFault("The value must be a list of texts.", field)
    if not fields["test_list"]:
        raise FieldFault("The list has no test; a solution can't pass without one.", "test_list")
    tests: list[str] = []
    for number, text in enumerate(fields["test_list"], 1):
        test = "\n".join([*imports, text])
        tree = parsed(test)
        if tree is None:
            raise FieldFault(f"Test {number} isn't Python.", "test_list")
        _must_assert(tree, ("candidate", name), "test_list")
        tests.append(test)
    extra = {"entry_point": name, "prompt": fields["prompt"], "preamble": "", "tests": tests}
    return ItemDraft(fields["task_id"], _inputs(fields["prompt"], name), fields["code"], extra)


def preamble_of(prompt: str, entry_point: str) -> str:
    """What a prompt defines and imports before the function that it asks for; empty where it isn't Python."""
    tree = parsed(prompt)
    if tree is None:
        return ""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    texts = [
        ast.unparse(statement)
        for statement in tree.body
        if isinstance(statement, kinds) and getattr(statement, "name", "") != entry_point
    ]
    return "".join(f"{text}\n\n" for text in texts)


class VisibleTests:
    """The visible tests of ``records``, by the tasks that they belong to: by its id (``id_field``). Those without an id belong to
    a task by the name of its function, if none of their tests is foreign to the task's own: names of functions are not unique.
    """

    def __init__(self, records: Iterable[DataRecord], id_field: str, problems: Collector) -> None:
        self._by_id: dict[str, list[str]] = {}
        self._by_name: dict[str, list[list[str]]] = {}
        for record in records:
            tests = record.fields.get("test")
            if not isinstance(tests, list) or not all(isinstance(test, str) for test in tests):
                problems.add("The value must be a list of tests, each a text.", record.line, "test")
                continue
            own_id, name = record.fields.get(id_field), record.fields.get("entry_point")
            if own_id is not None:
                self._by_id[str(own_id)] = tests
            elif isinstance(name, str):
                self._by_name.setdefault(name, []).append(tests)
            else:
                problems.add(f"The record has neither `{id_field}` nor `entry_point`.", record.line)

    def joined(self, draft: ItemDraft) -> ItemDraft:
        """The draft of a task with its tests as the input ``tests``; an empty list where it has none."""
        return _with_tests(draft, self._by_id.get(str(draft.id)), self._by_name)


def _with_tests(draft: ItemDraft, tests: list[str] | None, by_name: Mapping[str, list[list[str]]]) -> ItemDraft:
    if tests is None:
        name = draft.extra["entry_point"]
        own = [plain for test in draft.extra["tests"] for plain in _assertions(test, name)]
        fitting: list[tuple[int, list[str]]] = []
        for candidate in by_name.get(name, ()):
            plain = [each for test in candidate for each in _assertions(test, name)]
            if plain and all(each in own for each in plain):
                fitting.append((own.index(plain[0]), candidate))
        # Where tests fit two tasks of one name, they are those of the task that has them first.
        tests = min(fitting, key=lambda each: each[0])[1] if fitting else []
    return ItemDraft(draft.id, {**draft.inputs, "tests": tests}, draft.gold, draft.extra)


def _assertions(test: str, name: str) -> list[str]:
    """The assertions of a test in one spelling, with the function under its name."""
    tree = parsed(test)
    nodes = list(ast.walk(tree)) if tree else []
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "candidate":
            node.id = name
    return [ast.unparse(node) for node in nodes if isinstance(node, ast.Assert)]


def _entry_point(fields: dict[str, Any]) -> str:
    name: str = fields["entry_point"]
    if not name.isidentifier() or keyword.iskeyword(name):
        raise FieldFault("The value can't be the name of a function.", "entry_point")
    return name


def _inputs(prompt: str, name: str) -> dict[str, Any]:
    return {"problem": prompt, "prompt": prompt, "entry_point": name}


def _must_assert(tree: ast.Module, names: tuple[str, ...], field: str) -> None:
    """A test must compare something, and call the function under test: else anything would pass it, or nothing."""
    nodes = list(ast.walk(tree))
    if not any(isinstance(node, ast.Name) and node.id in names for node in nodes):
        raise FieldFault(f"The test doesn't call `{names[-1]}`, so it tests nothing.", field)
    compares = any(isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant) for node in nodes)
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    named = (call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls)
    raises = any(isinstance(node, ast.Raise) for node in nodes)
    if not compares and not raises and not any(name.startswith("assert") for name in named):
        raise FieldFault("The test asserts nothing, so any solution would pass; add an assertion.", field)
