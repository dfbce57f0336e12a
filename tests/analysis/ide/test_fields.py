"""Fields of records under the cursor: definition, references, hover, renaming, wherever they are named."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import drawn, marked
from tests.analysis.ide.meaning import errors

from merrow_analysis.check import analyse
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.definition import definition
from merrow_analysis.ide.names.references import highlights, references
from merrow_analysis.ide.names.rename import RenameRefusedError, rename
from merrow_analysis.text import apply_edits

TEXT = """---
workflow:
  types:
    Spot: {name: Text, rank: Number}
    Trip: {city: Text, "spot": Spot, done: Bool}
    Near: Trip
    Step: Trip | Query
    Query: Text
---
flowchart TD
    PROBLEM([Problem]):::Interface
    THINK@{ op: Custom, role: think, returns: Step }
    D{which?}:::DecisionOp
    WHERE["Custom<br/>(role: where, returns: Near)"]
    MANY@{ op: Custom, role: many, returns: Spot, samples: 3 }
    BEST["Select<br/>(by: rank)"]
    OTHER@{ op: Select, by: "spot.rank" }
    PLANS@{ op: Custom, role: plans, returns: Trip, samples: 2 }
    KEEP["Pass<br/>(returns: Spot)"]
    RATE["Custom<br/>(role: rate, returns: Number)"]
    LATER@{ op: Custom, role: later }
    TOLD@{ op: Custom, role: told }
    YES@{ op: Custom, role: yes }
    OUT@{ op: Custom, role: out }
    IF{big?}:::DecisionOp
    IF@{ if: "place.spot.rank > 3 and place.city != 'city'" }
    subgraph WORK["Loop (max: 3, until: AGAIN.spot.rank > 3 and AGAIN.done)"]
        AGAIN@{ op: Custom, role: again, returns: Trip }
        WRITE@{ op: Custom, role: write }
    end
    RETURN([Return]):::Interface
    PROBLEM --> THINK & WHERE & MANY & PLANS & RATE
    THINK --> D
    D -->|trip:spot.name:input| TOLD
    TOLD --> WRITE
    D -->|Query| OUT
    OUT --> WRITE
    WHERE -->|city:input| WRITE
    WHERE -->|response.spot.name:input| WRITE
    MANY --> BEST
    PLANS --> OTHER
    OTHER -->|best.city:input| WRITE
    BEST -->|best.name:name| KEEP
    RATE -->|rank| KEEP
    WHERE -->|place| IF
    IF -->|yes:after| YES
    PROBLEM --> YES --> WRITE
    IF -->|no:after| LATER
    WHERE -->|done:input| LATER
    LATER --> WRITE
    KEEP --> WRITE
    PROBLEM --> AGAIN --> WRITE
    WRITE -->|again| AGAIN
    WRITE --> RETURN
    classDef Interface fill:#eee
    classDef DecisionOp fill:#fff
"""
FIELDS = {
    "Spot.rank": ["rank: Number", "(by: rank)", 'spot.rank" }', "place.spot.rank", "AGAIN.spot.rank", "|rank|"],
    "Spot.name": ["name: Text", "trip:spot.name:", "response.spot.name:", "best.name:", ":name| KEEP"],
    "Trip.city": ["city: Text", "place.city", "|city:input|", "best.city:"],
    "Trip.spot": ['"spot": Spot', '"spot.rank" }', "place.spot.rank", "AGAIN.spot", "trip:spot.", "response.spot."],
    "Trip.done": ["done: Bool", "AGAIN.done", "|done:input|"],
}


def at(field: str, place: str) -> str:
    """The text with a cursor in the field at one of its places."""
    name = field.rpartition(".")[2]
    inner = place.index(name) if name == "spot" else place.rindex(name)
    assert TEXT.count(place) == 1, place
    return TEXT.replace(place, f"{place[: inner + 2]}<|>{place[inner + 2 :]}")


CASES = [(field, place) for field, places in FIELDS.items() for place in places]


@pytest.mark.parametrize(("field", "place"), CASES)
def test_every_place_leads_to_all(field: str, place: str) -> None:
    here = marked(at(field, place))
    name = field.rpartition(".")[2]
    found = references(here.analysis, here.position)
    lines = here.text.splitlines()
    assert [lines[one.range.start.line][one.range.start.column : one.range.end.column] for one in found] == [
        name
    ] * len(FIELDS[field])
    assert len(references(here.analysis, here.position, declarations=False)) == len(found) - 1
    assert {one.kind for one in highlights(here.analysis, here.position)} == {"read", "write"}
    led = definition(here.analysis, here.position)
    assert led is not None
    (target,) = led.targets
    record, _, _ = field.partition(".")
    assert f"    {record}: " in drawn(here.text, [target.name]).splitlines()[0]
    said = hover(here.analysis, here.position)
    assert said is not None
    assert f"A field of record {record}" in said.text.plain().replace("`", "")


@pytest.mark.parametrize(("field", "place"), CASES)
def test_it_is_renamed_everywhere_and_back(field: str, place: str) -> None:
    here = marked(at(field, place))
    after = apply_edits(here.text, rename(here.analysis, here.position, "brand_new").edits)
    assert after.count("brand_new") == len(FIELDS[field])
    assert errors(analyse(after)) == errors(here.analysis)
    back = analyse(after)
    position = references(here.analysis, here.position)[0].range.start
    name = field.rpartition(".")[2]
    assert apply_edits(after, rename(back, position, name).edits) == here.text


@pytest.mark.parametrize(
    ("place", "new", "said"),
    [
        ("{ci<|>ty: Text", "Spot", "already has a field"),
        ("{ci<|>ty: Text", "a b", "can't name a field"),
        ("{ci<|>ty: Text", "", "at least one"),
        ("{ci<|>ty: Text", "response", "won't do as a name"),
    ],
)
def test_names_that_a_field_can_not_have(place: str, new: str, said: str) -> None:
    here = marked(TEXT.replace(place.replace("<|>", ""), place))
    with pytest.raises(RenameRefusedError, match=said):
        rename(here.analysis, here.position, new)


class Library:
    def read(self, _: str) -> str:
        return "types:\n  Spot: {name: Text}\n"

    def exists(self, _: str) -> bool:
        return True


def test_a_field_from_a_library() -> None:
    text = """---
workflow:
  libraries: [l.yaml]
---
flowchart TD
    A@{ op: Custom, role: a, returns: Spot }
    PROBLEM --> A -->|na<|>me:| RETURN
"""
    here = marked(text, Library())
    led = definition(here.analysis, here.position, Library())
    assert led is not None
    (target,) = led.targets
    assert (target.file, target.name.start) == ("l.yaml", (1, 9))
    with pytest.raises(RenameRefusedError, match="from a library"):
        rename(here.analysis, here.position, "x")


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_field_of_a_text_with_pieces_missing_is_renamed_whole_or_not(data: st.DataObject) -> None:
    """Whatever lines are missing, a rename leaves the findings as they are, and can be undone."""
    lines = TEXT.splitlines(keepends=True)
    gone = data.draw(st.sets(st.integers(9, len(lines) - 1), max_size=4))
    text = "".join(line for number, line in enumerate(lines) if number not in gone)
    field, place = data.draw(st.sampled_from(CASES))
    if text.count(place) != 1:
        return
    here = marked(_cursor(text, field, place))
    new = data.draw(st.sampled_from(["brand_new", "again", "best", "value", "input", "Spot", "after", "else"]))
    try:
        after = apply_edits(here.text, rename(here.analysis, here.position, new).edits)
    except RenameRefusedError:
        event("refused")
        return
    event("renamed")
    now = analyse(after)
    assert errors(now) == errors(here.analysis)
    first = references(here.analysis, here.position)[0].range.start
    assert apply_edits(after, rename(now, first, field.rpartition(".")[2]).edits) == here.text


def _cursor(text: str, field: str, place: str) -> str:
    start = at(field, place).index("<|>") - TEXT.index(place)
    return text.replace(place, f"{place[:start]}<|>{place[start:]}")
