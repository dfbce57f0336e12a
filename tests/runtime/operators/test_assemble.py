"""Assemble: results put together by a model, joined, or taken apart into files."""

from __future__ import annotations

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.runtime.operators.scripted import ScriptedTools, given, node, outputs_of

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.formats.answer_files import NamedFile, files_in, text_of_files
from merrow_runtime.operators.formats.fences import framed


async def put_together(how: str | None, *results: str, tools: ScriptedTools | None = None) -> object:
    definition = node("Assemble", parameters={} if how is None else {"how": how})
    return (await outputs_of(definition, {"results": given(*results)}, tools or ScriptedTools()))["result"]


async def test_a_model_puts_them_together() -> None:
    tools = ScriptedTools(answers=["the whole"])
    assert await put_together(None, "one", "two", tools=tools) == "the whole"
    assert tools.asked[0].step == "assemble"
    assert "one" in tools.asked[0].user
    assert "two" in tools.asked[0].user


async def test_concat_joins_them_in_order() -> None:
    assert await put_together("concat", "one\n", "two") == "one\n\ntwo"


async def test_files_are_taken_out() -> None:
    found = await put_together(
        "files", "Here:\n```html index.html\n<p>\n```", "**src/app.js**\n\n```js\nrun()\n```\nDone."
    )
    assert found == '```html file="index.html"\n<p>\n```\n\n```js file="src/app.js"\nrun()\n```'


async def test_without_a_file_it_fails() -> None:
    with pytest.raises(NodeFailure, match="no result has a fenced block with a file name"):
        await put_together("files", "```html\n<p>\n```")


async def test_a_file_given_twice_fails_the_node() -> None:
    with pytest.raises(NodeFailure, match=r"`a\.txt` is given twice"):
        await put_together("files", "```text a.txt\n1\n```", "```text A.TXT\n2\n```".replace("A.TXT", "a.txt"))


@pytest.mark.parametrize(
    ("opening", "path"),
    [
        ("```html index.html", "index.html"),
        ("```index.html", "index.html"),
        ("```python:src/app.py", "src/app.py"),
        ('```python title="my app.py"', "my app.py"),
        ("~~~js filename=lib/x.js", "lib/x.js"),
        ("### `style.css`\n```css", "style.css"),
        ("File: src/main.rs\n```rust", "src/main.rs"),
        ("**Dockerfile**:\n\n```", "Dockerfile"),
        ("```text ./a//b.txt", "a/b.txt"),
    ],
)
def test_names_as_models_write_them(opening: str, path: str) -> None:
    mark = "~~~" if opening.startswith("~~~") else "```"
    assert [file.path for file in files_in([f"{opening}\nx\n{mark}"])] == [path]


@pytest.mark.parametrize(
    "text", ["```python\nx\n```", "See index.html for this:\n```html\nx\n```", "no block", "```\n\n```"]
)
def test_blocks_without_a_name_are_passed_over(text: str) -> None:
    assert files_in([text]) == []


@pytest.mark.parametrize(
    ("opening", "path", "language"),
    [
        ("```html index.html", "index.html", "html"),
        ("```index.html", "index.html", ""),
        ("```src/main", "src/main", ""),
        ("### `style.css`\n```css", "style.css", "css"),
        ("```python:src/main.py", "src/main.py", "python"),
    ],
)
def test_the_language_of_a_file_is_the_word_before_its_name(opening: str, path: str, language: str) -> None:
    (file,) = files_in([f"{opening}\nx\n```"])
    assert (file.path, file.language) == (path, language)


@pytest.mark.parametrize(
    "name",
    [
        "../x.txt",
        "/etc/passwd",
        "~/x.txt",
        "a/../../x.txt",
        "C:/x.txt",
        'file="a\\b.txt"',
        "nul.txt",
        'path="x."',
        "a" * 300 + ".txt",
        'file="a\ud800.txt"',
        'file="a\x9b31m.txt"',
        'file="a\u202etxt.exe"',
        'file="a\u200b.txt"',
        'file="a\u2028.txt"',
    ],
)
def test_names_that_lead_outside_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="leads outside") as caught:
        files_in([f"```text {name}\nx\n```"])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("second", "says"),
    [("A.TXT", "given twice"), ("a.txt/b.txt", "is a file and also the folder"), ("a.txt", "given twice")],
)
def test_files_that_exclude_each_other_are_refused(second: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        files_in(["```text a.txt\nx\n```", f"```text {second}\nx\n```"])


def test_a_file_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        files_in(["```text a.txt\nx"])


NAMES = st.lists(
    st.text("abcäß_-. ", min_size=1, max_size=5).map(lambda name: f"f{name}x"), min_size=1, max_size=3
).map("/".join)


@for_all(
    st.dictionaries(
        NAMES.map(lambda name: f"{name}.txt".casefold()), st.text("ab`~# \nfile:=\"'.", max_size=40), max_size=4
    )
)
def test_files_written_as_text_are_read_back(files: dict[str, str]) -> None:
    said = [NamedFile(path, text) for path, text in files.items()]
    assert {file.path: file.text for file in files_in([text_of_files(said)])} == files


@for_all(st.text("ab/.~\\:\"' =`\n-", max_size=60), st.text(max_size=10))
def test_no_name_leads_outside(name: str, content: str) -> None:
    for info in (name, f'file="{name}"', f"{name}\n```"):
        try:
            found = files_in([f"```text {info}\n{content}\n```", framed(content, name)])
        except ValueError:
            continue
        for file in found:
            parts = file.path.split("/")
            assert file.path
            assert not set(parts) & {"", ".", ".."}
            assert not set(file.path) & set('\\:"`\n')
            assert parts[0][0] != "~"
