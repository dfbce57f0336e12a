"""Front matter: what it says, and where, also when its fence is indented or its lines end in CRLF."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.yaml.yaml_text import read_yaml

BODY = 'title: "x"\nworkflow:\n  model: gpt\n  prompts:\n    a: |\n      One.\n      Two.\n    b: {c: d}\n'


@given(st.sampled_from(["", " ", "    ", "\t"]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_indentation_and_line_ends_change_no_value_and_no_place(indent: str, end: str) -> None:
    plain = read_yaml(BODY)
    body = end.join(indent + line if line else line for line in BODY.split("\n"))
    doc = read_front_matter(body, indent)
    assert doc.values == plain.value
    for path in [("title",), ("workflow", "model"), ("workflow", "prompts", "b", "c")]:
        there, here = plain.places(path), doc.places(*path)
        assert there is not None
        assert here is not None
        for one, other in zip(there, here, strict=True):
            assert BODY[slice(*one)] == body[slice(*other)]


@given(st.text(max_size=60), st.sampled_from(["", " ", "  "]))
def test_any_body_is_survived(body: str, indent: str) -> None:
    doc = read_front_matter(body, indent)
    assert doc.error is None or 0 <= doc.error.offset <= len(body)
    assert isinstance(doc.values, dict)


def test_quotes_inside_html_tags_are_single_ones_for_mermaid() -> None:
    assert read_front_matter('title: "a <b class="c">d</b>"').values == {"title": "a <b class='c'>d</b>"}
