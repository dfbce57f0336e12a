"""The JSON Schemas in ``schemas/``: they accept what Merrow accepts and refuse what it refuses."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.libraries import read_library
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.definitions.yaml.yaml_text import read_yaml
from merrow_analysis.rules.configuration import parse_configuration

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.mmd") if path.read_text("utf-8").startswith("---\n"))


def published(name: str) -> jsonschema.Draft202012Validator:
    """The validator of a file in ``schemas/``."""
    text = (ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text))


FRONT_MATTER, LIBRARY, SETTINGS = published("front-matter"), published("library"), published("merrow")


def front_matter(path: Path) -> str:
    return path.read_text("utf-8").split("---\n")[1]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_front_matter_of_every_example_is_accepted(path: Path) -> None:
    FRONT_MATTER.validate(read_front_matter(front_matter(path)).values)


@pytest.mark.parametrize(
    "wrong",
    [
        "modle: gpt",
        "temperature: hot",
        "temperature: 3",
        "retries: -1",
        "budget: {euros: 3}",
        "inputs: {LETTER: Text}",
        "memory: {last: 0}",
        "on_error: ignore",
        "prompts: [one]",
        "operators: {A: {inputs: {x: Text}}}",
        "libraries: 3",
    ],
)
def test_a_wrong_front_matter_is_refused_by_both(wrong: str) -> None:
    key = wrong.partition(":")[0]
    for path in EXAMPLES:
        values: Any = read_front_matter(front_matter(path)).values
        block = values["workflow"] if isinstance(values.get("workflow"), dict) else {}
        seeded = {**values, "workflow": {**block, **read_yaml(wrong).value}}  # type: ignore[dict-item]
        assert not FRONT_MATTER.is_valid(seeded), f"{path.stem} with {wrong}"
    if key != "operators":
        assert read_settings(f"workflow:\n  {wrong}").violations


SETTINGS_FILES = {
    'select = ["ALL"]\nignore = ["MW404"]\n[severity]\nundefined-class = "error"\n[per-path]\n"drafts/**" = ["MW3"]\n': True,
    'libraries = ["a.yaml"]\npatterns = ["p"]\n': True,
    'libraries = "a.yaml"\n': False,
    'selcet = ["ALL"]\n': False,
    '[severity]\nMW101 = "loud"\n': False,
    '[per-path]\n"drafts/**" = "MW3"\n': False,
}


@pytest.mark.parametrize(("text", "good"), SETTINGS_FILES.items())
def test_settings_files(text: str, good: bool) -> None:
    assert SETTINGS.is_valid(tomllib.loads(text)) is good
    assert (not parse_configuration(text).problems) is good


LIBRARIES = {
    "operators:\n  Sort:\n    inputs: {letter: Text}\n    outputs: {kind: Kind}\ntypes:\n  Kind: [bill, thanks]\n": True,
    "Sort:\n  inputs: {letter: Text}\n  outputs: {answer: Text}\n": True,
    "types:\n  Kind: []\n": False,
    "operators:\n  Sort: {inputs: {letter: Text}}\n": False,
    "operators:\n  Sort: {outputs: {a: Text}, promt: x}\n": False,
    "operators: [Sort]\n": False,
    "- Sort\n": False,
    "Sort:\n  outputs: {a: Text}\ntypes: {}\n": False,
}


@pytest.mark.parametrize(("text", "good"), LIBRARIES.items())
def test_libraries(text: str, good: bool) -> None:
    assert LIBRARY.is_valid(read_yaml(text).value) is good
    assert (read_library(text, "library.yaml").problem is None) is good


KEYS = st.sampled_from(["select", "ignore", "severity", "per-path", "libraries", "patterns", "slect"])
VALUES = st.one_of(
    st.lists(st.sampled_from(["MW404", "ALL", ""]), max_size=2),
    st.dictionaries(st.sampled_from(["MW404", "MW4"]), st.sampled_from(["error", "off", "loud"]), max_size=2),
    st.dictionaries(st.sampled_from(["a", "b/**"]), st.lists(st.just("MW3"), max_size=2), max_size=2),
    st.sampled_from(["MW404", 3, True]),
)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {toml(part)}' for key, part in value.items()) + "}"
    return json.dumps(value)


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_settings_are_wrong_for_the_schema_exactly_where_they_are_wrong_for_merrow(values: dict[str, Any]) -> None:
    text = "".join(f"{key} = {toml(value)}\n" for key, value in values.items())
    assert SETTINGS.is_valid(values) == (not parse_configuration(text).problems)


def test_the_extension_associates_schemas_that_it_packs() -> None:
    contributed = json.loads((ROOT / "vscode-extension" / "package.json").read_text("utf-8"))["contributes"]
    urls = [rule["url"] for kind in ("tomlValidation", "yamlValidation") for rule in contributed[kind]]
    assert len(urls) == 3
    for url in urls:
        assert (ROOT / "schemas" / url.removeprefix("./dist/schemas/")).is_file()
