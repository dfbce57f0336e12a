"""What stands in the bundle for compiled packages behaves as they do."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import rpds
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry
from tests.patience import PATIENCE

EXTENSION = Path(__file__).resolve().parents[2] / "vscode-extension"


def standin() -> ModuleType:
    spec = importlib.util.spec_from_file_location("standin_rpds", EXTENSION / "scripts" / "standins" / "rpds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OURS = standin()
KEYS = st.integers(0, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), KEYS, KEYS),
        st.tuples(st.sampled_from(["remove", "discard"]), KEYS),
        st.tuples(st.just("update"), st.dictionaries(KEYS, KEYS)),
    ),
    max_size=12,
)


def walk(start: Any, steps: list[tuple[Any, ...]], *, pairs: bool) -> list[Any]:
    """What each of the steps gives, earlier results asked again at the end: nothing may change afterwards."""
    seen = [start]
    told: list[Any] = []
    for name, *arguments in steps:
        if name == "insert" and not pairs:
            arguments = arguments[:1]
        try:
            seen.append(getattr(seen[-1], name)(*arguments))
        except KeyError:
            told.append("KeyError")
    shown = [dict(one) if pairs else frozenset(one) for one in seen]
    return [*told, *shown, [len(one) for one in seen]]


@given(st.dictionaries(KEYS, KEYS), STEPS)
def test_the_map_is_always_the_compiled_one(start: dict[int, int], steps: list[tuple[Any, ...]]) -> None:
    ours, theirs = OURS.HashTrieMap(start), rpds.HashTrieMap(start)
    assert walk(ours, steps, pairs=True) == walk(theirs, steps, pairs=True)
    assert OURS.HashTrieMap.convert(ours) is ours
    assert dict(OURS.HashTrieMap.convert(start)) == dict(rpds.HashTrieMap.convert(start))
    assert ours == OURS.HashTrieMap(list(start.items()))
    assert hash(ours) == hash(OURS.HashTrieMap(start))


@given(st.sets(KEYS), STEPS)
def test_the_set_is_always_the_compiled_one(start: set[int], steps: list[tuple[Any, ...]]) -> None:
    assert walk(OURS.HashTrieSet(start), steps, pairs=False) == walk(rpds.HashTrieSet(start), steps, pairs=False)


@given(st.lists(KEYS), st.lists(st.sampled_from(["push_front", "drop_first", "first", "rest"])))
def test_the_list_is_always_the_compiled_one(start: list[int], steps: list[str]) -> None:
    ours, theirs = OURS.List(start), rpds.List(start)
    for step in steps:
        answers = []
        for one in (ours, theirs):
            try:
                found = getattr(one, step)
                answers.append(found(7) if step == "push_front" else found() if step == "drop_first" else found)
            except IndexError as problem:
                answers.append(str(problem))
        if step == "first" or isinstance(answers[0], str):
            assert answers[0] == answers[1]
        else:
            ours, theirs = answers
        assert (list(ours), len(ours), list(reversed(ours))) == (list(theirs), len(theirs), list(reversed(theirs)))
    assert list(OURS.List(1, 2)) == list(rpds.List(1, 2))


SCHEMAS: list[dict[str, Any]] = [
    {"$defs": {"n": {"type": "integer", "minimum": 2}}, "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]},
    {"$defs": {"x": {"$anchor": "here", "enum": [1, "a"]}}, "items": {"$ref": "#here"}},
    {
        "$id": "https://example.org/tree",
        "type": "object",
        "properties": {"child": {"$ref": "#"}},
        "additionalProperties": False,
    },
    {"$id": "https://example.org/d", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}, "type": "array"},
    {"unevaluatedProperties": False, "anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]},
]
VALUES: list[Any] = [
    {},
    {"a": 1},
    {"a": 2},
    {"a": "x"},
    [1, "a"],
    [2],
    {"child": {"child": {}}},
    {"child": {"x": 1}},
    [[], [1]],
    3,
]
VALIDATE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import rpds
from jsonschema import Draft202012Validator
from referencing import Registry
assert rpds.__file__.endswith("rpds.py"), rpds.__file__
for schema in json.loads(sys.argv[2]):
    validator = Draft202012Validator(schema, registry=Registry())
    print(json.dumps([[p.message for p in validator.iter_errors(v)] for v in json.loads(sys.argv[3])]))
"""


def test_schemas_are_judged_as_with_the_compiled_package() -> None:
    subprocess.run([sys.executable, EXTENSION / "scripts" / "bundle_python.py"], check=True, timeout=300)
    given_ = [json.dumps(SCHEMAS), json.dumps(VALUES)]
    command = [sys.executable, "-I", "-S", "-c", VALIDATE, str(EXTENSION / "python" / "lib"), *given_]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert shown.stderr == ""
    bundled = [json.loads(line) for line in shown.stdout.splitlines()]
    validators = [Draft202012Validator(schema, registry=Registry()) for schema in SCHEMAS]
    assert bundled == [
        [[problem.message for problem in one.iter_errors(value)] for value in VALUES] for one in validators
    ]


def test_the_standins_are_needed() -> None:
    """Once a package that is bundled no longer asks for it, its stand-in goes."""
    used = [
        file for package in ("jsonschema", "referencing") for file in (EXTENSION / "python/lib" / package).glob("*.py")
    ]
    if not used:
        pytest.skip("the Python parts are not bundled yet")
    assert any("from rpds import" in file.read_text("utf-8") for file in used)
