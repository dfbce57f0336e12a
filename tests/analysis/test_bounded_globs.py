"""Glob patterns of settings and of ``.gitignore`` files: what they mean, in a time that no pattern can stretch."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from merrow_analysis.bounded.globs import excluded, ignore_patterns, path_matches

PATHS = st.lists(
    st.text("ab.", min_size=1, max_size=4).filter(lambda name: name not in (".", "..")), min_size=1, max_size=4
)
PIECES = st.sampled_from(["a", "b", "*", "?", "/", "/**/", "[ab]", "[!a]", "[^b]", "[a-b]", "\\a", "\\*", "*b", "a*"])


@settings(max_examples=125, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=5).map("".join), PATHS)
def test_a_pattern_of_the_settings_takes_in_what_it_is_about_and_what_that_holds(
    pattern: str, names: list[str]
) -> None:
    assume("//" not in pattern and pattern.strip("/"))
    lines = list(ignore_patterns([pattern.removesuffix("/")]))
    above = ["/".join(names[:count]) for count in range(1, len(names) + 1)]
    assert path_matches(pattern, "/".join(names)) is any(excluded(lines, one, is_folder=True) for one in above)


@settings(max_examples=125, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["", "!", "/"]), st.lists(PIECES, min_size=1, max_size=5).map("".join),
                       st.sampled_from(["", "/", "/*", "/**"])).map("".join), min_size=1, max_size=2),
    PATHS,
    st.booleans(),
)  # fmt: skip
def test_a_gitignore_excludes_what_it_says(lines: list[str], names: list[str], is_folder: bool) -> None:
    # Of a folder, the package takes `a/**` to be about `a` as well.
    assume(not any("//" in line or (is_folder and "/**" in line[-5:]) for line in lines))
    by_package = GitIgnoreSpec.from_lines(lines)
    path = "/".join(names)
    above = ["/".join(names[:count]) + "/" for count in range(1, len(names))]
    # What is in an excluded folder is not asked for.
    assume(not any(by_package.check_file(folder).include is not None for folder in above))
    assert (
        excluded(list(ignore_patterns(lines)), path, is_folder=is_folder)
        is by_package.check_file(path + "/" * is_folder).include
    )


@pytest.mark.parametrize(
    ("line", "path", "verdict"),
    [
        ("a\\ ", "a ", True),
        ("a  ", "a", True),
        ("\\#a", "#a", True),
        ("#a", "#a", None),
        ("\\!a", "!a", True),
        ("!a", "a", False),
        ("[]a]", "]", True),
        ("[a", "[a", None),
        ("x[!/]y", "x/y", None),
        ("a/**", "a", None),
        ("a/**", "a/b", True),
        ("a/", "a", None),
        ("", "a", None),
        ("/", "a", None),
    ],
)
def test_single_lines_of_a_gitignore(line: str, path: str, verdict: bool | None) -> None:
    assert excluded(list(ignore_patterns([line])), path, is_folder=False) is verdict


@pytest.mark.parametrize("piece", ["*a", "**/*a", "**a", "/**/a", "*?", "*[ab]", "*a*a/"])
def test_a_pattern_ends_on_long_names(piece: str) -> None:
    pattern = (piece * 200)[:990] + "b"
    before = time.process_time()
    for path in ("a" * 4_000, "/".join(["a" * 60] * 60), "/".join("a" * 2_000)):
        assert not path_matches(pattern, path)
        assert excluded(list(ignore_patterns([pattern])), path, is_folder=False) is None
    assert time.process_time() - before < 15  # some 0.1 s; going back would take for good
    assert not path_matches("*" * 5_000, "a")
