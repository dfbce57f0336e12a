"""What the repository shows to its readers is true: examples, README and documents."""

import re
from pathlib import Path

import pytest
from tests.server.program import in_process

from merrow_analysis.definitions.configuration import parse_configuration

ROOT = Path(__file__).parents[2]
BROKEN = ROOT / "examples" / "broken.mmd"
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path != BROKEN)
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_no_finding_and_is_formatted(path: Path, capsys: Capture) -> None:
    outcome = in_process(capsys, "check", "--format", "json", str(path))
    assert (outcome.json, outcome.code) == ([], 0)
    assert in_process(capsys, "fmt", "--check", str(path)).code == 0


def test_the_broken_example_is_broken_and_can_be_repaired(capsys: Capture) -> None:
    assert in_process(capsys, "check", str(BROKEN)).code == 1
    copy = Path("flow.mmd")
    copy.write_bytes(BROKEN.read_bytes())
    assert in_process(capsys, "check", "--fix", "--unsafe-fixes", "flow.mmd").code == 0
    assert in_process(capsys, "check", "--format", "json", "flow.mmd").json == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_diagrams_of_a_document_have_no_error(path: Path, capsys: Capture) -> None:
    assert in_process(capsys, "check", str(path)).code == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_settings_in_a_document_mean_something(path: Path) -> None:
    for text in re.findall(r"^```toml\n(.*?)^```", path.read_text("utf-8"), re.M | re.S):
        assert parse_configuration(text).problems == ()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_links_to_is_there(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8")):
        if "://" not in link:
            assert (path.parent / link).exists(), link
