"""Renaming what files that call each other know by the same name: in all of them, open or not, or in none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.server.lsp.across import Files, workspaces
from tests.server.lsp.editor import ServerError

CALLED = """flowchart TD
    PROBLEM([Problem]):::Interface
    LEVEL([Level]):::Interface
    A@{ op: Custom, prompt: "think" }
    GRADE([Grade]):::Interface
    RETURN([Return]):::Interface
    PROBLEM & LEVEL --> A
    A --> GRADE & RETURN
    classDef Interface fill:#eee
"""
CALLER = """flowchart TD
    PROBLEM([Problem]):::Interface
    C@{ op: Call, workflow: "./sub/f.mmd" }
    RETURN([Return]):::Interface
    PROBLEM -->|PROBLEM| C
    PROBLEM -->|LEVEL| C
    C -->|GRADE:result| RETURN
    classDef Interface fill:#eee
"""
BESIDE = CALLER.replace("./sub/f.mmd", "f.mmd")
IN_LABEL = CALLER.replace('C@{ op: Call, workflow: "./sub/f.mmd" }', 'C["Call<br/>(workflow: sub/f.mmd)"]:::CallOp')


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    with Files(tmp_path) as made:
        yield made


@contextmanager
def folder() -> Iterator[Files]:
    with TemporaryDirectory() as name, Files(Path(name).resolve()) as made:
        yield made


WHOLE = {
    "main.mmd": CALLER,
    "sub/f.mmd": CALLED,
    "sub/beside.mmd": BESIDE,
    "label.mmd": IN_LABEL,
    "notes.md": f"# Notes\n\n- a list\n\n  ```mermaid\n{''.join('  ' + line for line in CALLER.splitlines(True))}  ```\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("opened", [(), ("main.mmd",), tuple(WHOLE)])
@pytest.mark.parametrize("at", [("main.mmd", "|LEV<|>EL|"), ("sub/f.mmd", "LEV<|>EL(["), ("notes.md", "|LE<|>VEL|")])
def test_an_input_is_renamed_in_every_caller(files: Files, opened: tuple[str, ...], at: tuple[str, str]) -> None:
    files.write(WHOLE)
    before = files.findings()
    files.open(at[0], *opened)
    files.rename(*at, "DEPTH")
    expected = {name: text.replace("LEVEL", "DEPTH") for name, text in WHOLE.items()}
    assert files.texts == expected
    assert files.findings() == before
    files.rename(at[0], at[1].replace("LEV<|>EL", "DEP<|>TH").replace("LE<|>VEL", "DEP<|>TH"), "LEVEL")
    assert files.texts == WHOLE


OUTER = """flowchart TD
    PROBLEM([Problem]):::Interface
    M@{ op: Call, workflow: "./main.mmd" }
    C@{ op: Call, workflow: "./sub/f.mmd" }
    RETURN([Return]):::Interface
    PROBLEM -->|PROBLEM| M
    M -->|RETURN:PROBLEM| C
    PROBLEM -->|LEVEL| C
    C -->|GRADE:result| RETURN
    classDef Interface fill:#eee
"""


@pytest.mark.parametrize("opened", [(), ("main.mmd", "outer.mmd")])
def test_a_caller_that_calls_another_caller_is_read_with_what_that_becomes(
    files: Files, opened: tuple[str, ...]
) -> None:
    """As it is, the other caller would be wrong by the time, and so would what it gives."""
    files.write({"outer.mmd": OUTER, "main.mmd": CALLER, "sub/f.mmd": CALLED})
    before = files.findings()
    files.open("sub/f.mmd", *opened)
    files.rename("sub/f.mmd", "LEV<|>EL([", "DEPTH")
    assert files.texts == {
        "outer.mmd": OUTER.replace("LEVEL", "DEPTH"),
        "main.mmd": CALLER.replace("LEVEL", "DEPTH"),
        "sub/f.mmd": CALLED.replace("LEVEL", "DEPTH"),
    }
    assert files.findings() == before


@pytest.mark.parametrize("called", ['"other.mmd"', '"OTHER.MMD"', r'"sub/\x67raded.mmd"'])
@pytest.mark.parametrize("opened", [(), ("main.mmd",)])
def test_a_caller_may_name_a_file_by_a_link_or_with_escapes(files: Files, called: str, opened: tuple[str, ...]) -> None:
    calls = CALLER.replace('"./sub/f.mmd"', called)
    files.write({"main.mmd": calls, "sub/graded.mmd": CALLED})
    for link in ("other.mmd", "OTHER.MMD"):
        with suppress(FileExistsError):  # where capitals make no difference
            (files.folder / link).symlink_to(files.folder / "sub" / "graded.mmd")
    files.open("sub/graded.mmd", *opened)
    files.rename("sub/graded.mmd", "LEV<|>EL([", "DEPTH")
    assert files.texts["main.mmd"] == calls.replace("LEVEL", "DEPTH")
    assert files.texts["sub/graded.mmd"] == CALLED.replace("LEVEL", "DEPTH")


def test_an_output_is_renamed_from_a_caller(files: Files) -> None:
    files.write(WHOLE)
    files.open("main.mmd")
    files.rename("main.mmd", "|GR<|>ADE:", "MARK")
    assert files.texts == {name: text.replace("GRADE", "MARK") for name, text in WHOLE.items()}


def test_a_file_that_calls_itself(files: Files) -> None:
    typed = "    GRADE([Grade]):::Interface\n    GRADE@{ type: Text }\n"
    call = "".join(
        f"    {line}\n"
        for line in (
            "D{deeper?}:::DecisionOp",
            'D@{ if: "len(text) > 3" }',
            "A -->|text| D",
            "A -->|value| D",
            'C@{ op: Call, workflow: "./f.mmd" }',
            "D -->|yes:LEVEL| C",
            "A -->|PROBLEM| C",
            "D -->|no| GRADE",
            "C -->|GRADE:| GRADE",
            "classDef DecisionOp fill:#eee",
        )
    )
    again = CALLED.replace("    GRADE([Grade]):::Interface\n", typed).replace("    RETURN([Return]):::Interface\n", "")
    again = again.replace("    A --> GRADE & RETURN\n", call)
    calls = CALLER.replace("./sub/f.mmd", "f.mmd").replace("    C -->|GRADE:result| RETURN", "    C --> RETURN")
    files.write({"f.mmd": again, "open.mmd": calls, "shut.mmd": calls})
    before = files.findings()
    files.open("open.mmd", "f.mmd")
    files.rename("f.mmd", "LEV<|>EL([", "DEPTH")
    assert files.texts["f.mmd"] == again.replace("LEVEL", "DEPTH")
    assert files.texts["open.mmd"] == files.texts["shut.mmd"] == calls.replace("LEVEL", "DEPTH")
    assert files.findings() == before


@pytest.mark.parametrize(
    ("at", "new", "said"),
    [
        (("main.mmd", "|PROB<|>LEM| C"), "TASK", "the workflow's input by its name"),
        (("main.mmd", "|LEV<|>EL|"), "A", "already a node A"),
        (("main.mmd", "|LEV<|>EL|"), "", "at least one character"),
        (("main.mmd", "./sub<|>/f.mmd"), "g.mmd", "Rename the file itself"),
        (("sub/f.mmd", "LEV<|>EL(["), "C:D", "can't name"),
    ],
)
def test_what_can_not_be_renamed_is_refused_and_nothing_changes(
    files: Files, at: tuple[str, str], new: str, said: str
) -> None:
    files.write(WHOLE)
    files.open("main.mmd", "sub/f.mmd")
    with pytest.raises(ServerError, match=said):
        files.rename(*at, new)


def test_before_a_rename_it_is_said_what_would_be_renamed_or_why_not(files: Files) -> None:
    files.write(WHOLE)
    files.open("main.mmd", "sub/f.mmd")
    prepare = "textDocument/prepareRename"
    for name, mark, said in (
        ("main.mmd", "|LEV<|>EL|", "LEVEL"),
        ("main.mmd", "|GRA<|>DE:", "GRADE"),
        ("sub/f.mmd", "LEV<|>EL([", "LEVEL"),
    ):
        assert files.ask(prepare, name, mark)["placeholder"] == said
    with pytest.raises(ServerError, match="the workflow's input by its name"):
        files.ask(prepare, "main.mmd", "|PROB<|>LEM| C")
    assert files.ask(prepare, "main.mmd", "flow<|>chart") is None


def test_callers_that_are_broken_unreadable_or_outside_stay_as_they_are(files: Files, tmp_path: Path) -> None:
    broken = CALLER + "    C -->|GRADE:\n"
    files.write({**WHOLE, "broken.mmd": broken})
    (files.folder / "odd.mmd").write_bytes(CALLER.encode() + b"\xff")
    files.open("sub/f.mmd")
    files.rename("sub/f.mmd", "LEV<|>EL([", "DEPTH")
    assert files.texts["broken.mmd"] == broken.replace("LEVEL", "DEPTH")
    assert (files.folder / "odd.mmd").read_bytes() == CALLER.encode() + b"\xff"


TYPES = "---\nworkflow:\n  types:\n    Place: {city: Text, rank: Number}\n---\n"
GIVES = TYPES + CALLED.replace('prompt: "think"', 'prompt: "think", returns: Place').replace("A --> GRADE &", "A -->")
TAKES = TYPES + CALLER.replace("|GRADE:result|", "|RETURN.city:result|")


def test_a_field_that_files_share_is_not_renamed_in_one_of_them(files: Files) -> None:
    gives = GIVES.replace("    GRADE([Grade]):::Interface\n", "")
    files.write({"main.mmd": TAKES, "sub/f.mmd": gives})
    assert not any(files.findings().values())
    files.open("main.mmd", "sub/f.mmd")
    for at in (("main.mmd", "RETURN.ci<|>ty:"), ("sub/f.mmd", "{ci<|>ty:"), ("main.mmd", "Pla<|>ce:")):
        with pytest.raises(ServerError):
            files.rename(*at, "town")


ID = st.sampled_from(
    ["LEVEL", "DEPTH", "x1", "over", "again", "after", "first", "ünal", "節", "a_b", "PROBLEM", "C", "value"]
)


@settings(
    deadline=None,
    max_examples=4,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_a_rename_keeps_the_findings_of_generated_files_and_can_be_undone(data: st.DataObject) -> None:
    with folder() as files:
        texts = data.draw(workspaces())
        files.write(texts)
        for name in texts:
            if data.draw(st.booleans()):
                files.open(name)
        places = files.places()
        name, position, old = data.draw(st.sampled_from(places))
        new = data.draw(ID)
        before = files.findings(), files.meanings(old, new)
        files.open(name)
        try:
            files.apply(files.ask_at("textDocument/rename", name, position, newName=new))
        except ServerError:
            event("refused")
            assert files.texts == texts
            return
        event("renamed" if files.texts != texts else "same name")
        assert (files.findings(), files.meanings(old, new)) == before
        back = next(p for n, p, o in files.places() if n == name and o == new)
        files.apply(files.ask_at("textDocument/rename", name, back, newName=old))
        assert files.texts == texts


def test_a_type_that_files_share_keeps_its_meaning_where_nothing_would_be_found(files: Files) -> None:
    gives = GIVES.replace("    GRADE([Grade]):::Interface\n", "")
    files.write({"main.mmd": TAKES.replace("RETURN.city:result", "RETURN:result"), "sub/f.mmd": gives})
    files.open("main.mmd", "sub/f.mmd")
    for name in ("main.mmd", "sub/f.mmd"):
        with pytest.raises(ServerError, match="know the same type by its name"):
            files.rename(name, "Pla<|>ce:", "Spot")
