"""Games of ALFWorld that are ours: a room of the package's own domain and grammar, and nothing that is downloaded.

    PYTHON tests/environments/alfworld_game.py FOLDER

with a Python that has the package alfworld writes a game of each goal below the folder, where `alfworld-download` puts its games.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

GOALS = {
    "valid_seen/pick_and_place_simple-Mug-None-Shelf-1": (
        "put a mug in shelf",
        "(inReceptacle ?o ?r) (objectType ?o MugType) (receptacleType ?r ShelfType)",
    ),
    "valid_seen/pick_clean_then_place_in_recep-Mug-None-Desk-1": (
        "put a clean mug in desk",
        "(isClean ?o) (inReceptacle ?o ?r) (objectType ?o MugType) (receptacleType ?r DeskType)",
    ),
    "valid_unseen/pick_and_place_simple-Mug-None-Desk-2": (
        "put a mug in desk",
        "(inReceptacle ?o ?r) (objectType ?o MugType) (receptacleType ?r DeskType)",
    ),
}
"""By the folder of a game what it says is to be done, and when that is so."""


def _named(kind: str, number: int) -> str:
    """A thing as the package names it: its kind, and where it is."""
    return f"{kind}_bar__minus_0{number}_bar__plus_01_bar__plus_0{number}"


def problem(goal: str) -> str:
    """A room with a desk, a shelf, a sink and a closed drawer with a mug in it."""
    kinds = ("Desk", "Shelf", "SinkBasin", "Drawer")
    places = {kind: _named(kind.removesuffix("Basin"), number) for number, kind in enumerate(kinds, 1)}
    places["SinkBasin"] += "_bar_SinkBasin"
    where = {kind: f"loc_{number}" for number, kind in enumerate(kinds, 1)}
    mug, nodes = _named("Mug", 5), [*where.values(), "loc_9"]
    facts = ["(atLocation agent1 loc_9)", f"(openable {places['Drawer']})", f"(objectType {mug} MugType)"]
    facts += [f"(inReceptacle {mug} {places['Drawer']})", f"(objectAtLocation {mug} {where['Drawer']})"]
    facts += [f"(pickupable {mug})", f"(cleanable {mug})", "(= (total-cost) 0)"]
    for kind, place in places.items():
        facts += [f"(receptacleAtLocation {place} {where[kind]})", f"(receptacleType {place} {kind}Type)"]
        facts.append(f"(canContain {kind}Type MugType)")
    facts += [f"(= (distance {a} {b}) 1)" for a in nodes for b in nodes if a != b]
    return f"""(define (problem room) (:domain alfred)
 (:objects agent1 - agent {" ".join(nodes)} - location {" ".join(places.values())} - receptacle
  {mug} - object {" ".join(f"{kind}Type" for kind in kinds)} - rtype MugType - otype)
 (:init {" ".join(facts)})
 (:goal (and (exists (?r - receptacle) (exists (?o - object) (and {goal})))))
 (:metric minimize (total-cost)))
"""


def write(folder: Path) -> None:
    """Write the games."""
    package = find_spec("alfworld")
    assert package is not None
    assert package.origin is not None
    own = Path(package.origin).parent / "data"
    domain, grammar = (own / "alfred.pddl").read_text("utf-8"), (own / "alfred.twl2").read_text("utf-8")
    for place, (task, goal) in GOALS.items():
        game = folder / "json_2.1.1" / place / "trial_own" / "game.tw-pddl"
        game.parent.mkdir(parents=True)
        said = grammar.replace("UNKNOWN GOAL", task)
        game.write_text(
            json.dumps({"pddl_domain": domain, "grammar": said, "pddl_problem": problem(goal), "solvable": True})
        )


if __name__ == "__main__":
    write(Path(sys.argv[1]))
