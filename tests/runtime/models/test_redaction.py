"""What a text from outside looks like where it is shown: without secrets, in one line, of a bounded length."""

from __future__ import annotations

import pytest

from merrow_runtime.models.redaction import quoted, redacted


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        # A key of fewer than four letters hides nothing, one of fewer than eight only itself.
        ("abc abcd", ["abc"], "abc abcd"),
        ("abcd ABCD dcba a b c d", ["abcd"], "[hidden] ABCD dcba a b c d"),
        ("abcdefg gfedcba", ["abcdefg"], "[hidden] gfedcba"),
        ("abcdefgh HGFEDCBA a-b a b c d e f g h", ["abcdefgh"], "[hidden] [hidden] a-b [hidden]"),
        ("a   b\u200bcdefgh a    bcdefgh", ["abcdefgh"], "[hidden] a    bcdefgh"),
        ("6162636465666768 6867666564636261", ["abcdefgh"], "[hidden] [hidden]"),
        ("61; 62, 63:64-65\n66 67 68 .", ["abcdefgh"], "[hidden] ."),
        ("YWJjZGVmZ2g= YWJjZA==", ["abcdefgh"], "[hidden]= YWJjZA=="),
        ("YWJjZA==", ["abcd"], "[hidden]=="),
        # Of two keys the longer one goes first.
        ("longer-key", ["longer", "longer-key"], "[hidden]"),
        ("a%2Fb%2Fc%2Fd", ["a/b/c/d"], "[hidden]"),
        ("Pz8/Pz8/Pz8 Pz8_Pz8_Pz8", ["????????"], "[hidden] [hidden]"),
        # What looks like a secret needs not be known.
        ("Bearer abcd1234, basic dXNlcg==", [], "Bearer [hidden], basic [hidden]"),
        ("Bearer abc", [], "Bearer abc"),
        (
            "api_key=abc, X-API-Key: 'def'; access token 'x'",
            [],
            "api_key=[hidden], X-API-Key: '[hidden]'; access token 'x'",
        ),
        ('{"authorization": "abc"}', [], '{"authorization": "[hidden]"}'),
        ("sk-12345678 sk-1234567 pk_12345678 task-12345678", [], "[hidden] sk-1234567 [hidden] task-12345678"),
        ("nothing", [], "nothing"),
    ],
)
def test_each_form_of_a_secret_is_hidden(text: str, secrets: list[str], shown: str) -> None:
    assert redacted(text, secrets) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" one\n two\tthree\x00\x1b[31m ", "one two three [31m"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300 + "..."),
        ("x" * 299 + " yz", "x" * 299 + "..."),
        ("x" * 30_000, "x" * 300 + "..."),
        (" " * 19_999 + "xy", "x"),
    ],
)
def test_a_text_is_shown_in_one_line_that_ends(text: str, shown: str) -> None:
    assert quoted(text) == shown


def test_of_a_long_text_the_end_that_may_be_half_a_key_is_left_out() -> None:
    key = "abcdefgh"
    assert quoted(" " * (20_000 - 73) + "wxyz" * 100, [key]) == "w"
    assert quoted(" " * (20_000 - 73) + "wxyz" * 100, [key, "a" * 9]) == ""
    assert quoted(" " * (20_000 - 73) + "w" * 73, [key]) == "w" * 73
