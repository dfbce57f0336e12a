"""Files and folders that are renamed: paths in workflows go on leading to the same files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.server.lsp.across import Files, workspaces

CALLED = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, prompt: "think" }
    RETURN([Return]):::Interface
    PROBLEM --> A --> RETURN
    classDef Interface fill:#eee
"""
CALLER = CALLED.replace('A@{ op: Custom, prompt: "think" }', 'A@{ op: Call, workflow: "./sub/f.mmd" }')
IN_LABEL = CALLED.replace('A@{ op: Custom, prompt: "think" }', 'A["Call<br/>(workflow: sub/f.mmd)"]:::CallOp')


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    with Files(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (("sub/f.mmd", "sub/g.mmd"), ('"./sub/g.mmd', "sub/g.mmd")),
        (("sub/f.mmd", "g.mmd"), ('"./g.mmd', "g.mmd")),
        (("sub", "other"), ('"./other/f.mmd', "other/f.mmd")),
        (("sub/f.mmd", "sub/a, b (2).mmd"), ('"./sub/a, b (2).mmd', "sub/a, b (2).mmd")),
        (("sub/f.mmd", "sub/ü b.mmd"), ('"./sub/ü b.mmd', "sub/ü b.mmd")),
    ],
)
@pytest.mark.parametrize("is_open", [True, False])
def test_a_called_file(files: Files, move: tuple[str, str], said: tuple[str, str], is_open: bool) -> None:
    files.write({"main.mmd": CALLER, "label.mmd": IN_LABEL, "sub/f.mmd": CALLED})
    files.open(*(["main.mmd", "label.mmd", "sub/f.mmd"] if is_open else []))
    files.move(move)
    texts = files.texts
    assert f"workflow: {said[0]}" in texts["main.mmd"]
    assert f"workflow: {said[1]})" in texts["label.mmd"]
    assert not any("MW227" in codes for codes in files.findings().values())


def test_of_a_folder_and_a_file_in_it_that_move_together_each_goes_its_own_way(files: Files) -> None:
    files.write(
        {"main.mmd": CALLER, "sub/f.mmd": CALLED, "two.mmd": CALLER.replace("f.mmd", "g.mmd"), "sub/g.mmd": CALLED}
    )
    files.move(("sub/f.mmd", "alone.mmd"), ("sub", "new"))
    assert 'workflow: "./alone.mmd"' in files.texts["main.mmd"]
    assert 'workflow: "./new/g.mmd"' in files.texts["two.mmd"]
    assert not any("MW227" in codes for codes in files.findings().values())


@pytest.mark.parametrize(("move", "path"), [("deep/er/main.mmd", "../../sub/f.mmd"), ("sub/main.mmd", "./f.mmd")])
def test_a_caller_takes_its_paths_along(files: Files, move: str, path: str) -> None:
    prompts = "---\nworkflow:\n  prompts: prompts.yaml\n---\n"
    files.write({"main.mmd": prompts + CALLER, "sub/f.mmd": CALLED})
    (files.folder / "prompts.yaml").write_text("a: think\n")
    files.move(("main.mmd", move))
    text = files.texts[move]
    assert f'workflow: "{path}"' in text
    assert f"prompts: {'../' * move.count('/')}prompts.yaml" in text


def test_prompts_and_libraries_are_followed(files: Files) -> None:
    front = "---\nworkflow:\n  prompts: 'p.yaml'\n  libraries: [l.yaml]\n---\n"
    files.write({"main.mmd": front + CALLED, "fence.md": f"```mermaid\n{front}{CALLED}```\n"})
    (files.folder / "p.yaml").write_text("a: think\n")
    files.move(("p.yaml", "q's.yaml"))
    assert (
        "prompts: 'q''s.yaml'" in files.texts["main.mmd"].replace('"', "'") or "q's.yaml" not in files.texts["main.mmd"]
    )
    files.write({"main.mmd": front + CALLED})
    (files.folder / "l.yaml").write_text("operators: {}\n")
    files.move(("l.yaml", "m/l.yaml"))
    assert "libraries: [m/l.yaml]" in files.texts["main.mmd"]
    assert "libraries: [m/l.yaml]" in files.texts["fence.md"]


def told(files: Files) -> list[str]:
    """What an editor is told of main.mmd: the codes."""
    return [one["code"] for one in files.editor.published(files.opened["main.mmd"])]


def test_checks_of_validators_are_followed(files: Files) -> None:
    front = "---\nworkflow:\n  validators:\n    v: [{rubric: Good}, {python: ./c.py}]\n---\n"
    check = "def check(output, inputs):\n    return True\n"
    files.write({"main.mmd": front + CALLED.replace('"think"', '"think", validate: v')})
    files.open("main.mmd")
    (files.folder / "c.py").write_text(check)
    files.move(("c.py", "checks/c.py"))
    assert "{python: ./checks/c.py}" in files.texts["main.mmd"]
    files.open("main.mmd")
    assert "MW502" not in told(files)
    (files.folder / "checks/c.py").write_text("")
    files.editor.notify(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": files.editor.uri("checks/c.py"), "type": 2}]}
    )
    assert "MW502" in told(files)


def test_what_leads_nowhere_or_out_of_the_workspace_stays(files: Files, tmp_path: Path) -> None:
    texts = {
        "main.mmd": CALLER,
        "out.mmd": CALLER.replace("./sub/f.mmd", "../../f.mmd"),
        "odd.mmd": CALLER.replace("./sub/f.mmd", "a\\0b"),
        "broken.mmd": 'flowchart TD\n    A@{ op: Call, workflow: "./sub/f.mmd\n',
        "sub/f.mmd": CALLED,
    }
    files.write(texts)
    files.open("broken.mmd", "odd.mmd")
    uris = {"oldUri": files.editor.uri("sub/f.mmd"), "newUri": (tmp_path.parent / "gone.mmd").as_uri()}
    assert files.editor.request("workspace/willRenameFiles", {"files": [uris]}) is None
    uris = {"oldUri": "untitled:x", "newUri": "https://example.org"}
    assert files.editor.request("workspace/willRenameFiles", {"files": [uris]}) is None
    (files.folder / "bytes.mmd").write_bytes(CALLER.encode() + b"\xff")
    files.move(("sub/f.mmd", "sub/g.mmd"))
    changed = {name for name, text in files.texts.items() if texts.get(name) != text}
    assert changed == {"main.mmd", "sub/g.mmd"}


def test_clients_are_told(files: Files) -> None:
    told = files.editor.capabilities_of_server["workspace"]["fileOperations"]["willRename"]
    assert "mmd" in json.dumps(told)


@settings(deadline=None, max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_move_keeps_what_all_files_say_and_can_be_undone(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, Files(Path(folder).resolve()) as files:
        texts = data.draw(workspaces())
        files.write(texts)
        for name in texts:
            if data.draw(st.booleans()):
                files.open(name)
        folders = sorted({name.rpartition("/")[0] for name in texts} - {""})
        old = data.draw(st.sampled_from([*texts, *folders]))
        new = data.draw(st.sampled_from(["new", "deep/new", "sub/new", "n, (1)"]))
        if old in texts:
            new += ".mmd"
        if new.startswith(f"{old}/"):
            return

        def renamed(name: str) -> str:
            return new + name.removeprefix(old) if name == old or name.startswith(f"{old}/") else name

        before, meaning = files.findings(), files.meanings("", "")
        files.move((old, new))
        event("changed" if files.texts != {renamed(name): text for name, text in texts.items()} else "moved alone")
        assert files.findings() == {renamed(name): codes for name, codes in before.items()}
        assert files.meanings("", "") == {renamed(name): one for name, one in meaning.items()}
        files.move((new, old))
        undone = {name: text.replace('"./', '"').replace(": ./", ": ") for name, text in files.texts.items()}
        assert undone == {name: text.replace('"./', '"').replace(": ./", ": ") for name, text in texts.items()}
