"""Workflows with Loops and Maps that have one defect each: made of right ones by one change."""

from __future__ import annotations

from typing import NamedTuple

from tests.analysis.workflows import workflow

REFINE = workflow(
    'subgraph REFINE["Loop (max: 4)"]',
    'WRITE["Custom<br/>(role: writer)"]',
    'REVIEW["Review<br/>"]',
    "CHECK{Good?}:::DecisionOp",
    "end",
    "PROBLEM -->|input| WRITE",
    "PROBLEM -->|problem| REVIEW",
    "WRITE -->|solution| REVIEW",
    "WRITE -->|value| CHECK",
    "REVIEW -->|result:when| CHECK",
    "CHECK -->|no:again:input| WRITE",
    "REVIEW -.->|again:feedback:input| WRITE",
    "CHECK -->|yes| RETURN",
    "CHECK -->|no:over| RETURN",
)
"""A Loop that a Decision ends."""

UNTIL = workflow(
    'DRAFT["Custom<br/>(role: draft)"]',
    'subgraph POLISH["Loop (max: 3, until: JUDGE.result, best: SCORE.response)"]',
    'REVISE["Revise<br/>"]',
    'JUDGE["Review<br/>"]',
    'SCORE["Custom<br/>(role: score, returns: Number)"]',
    "end",
    "PROBLEM -->|input| DRAFT",
    "PROBLEM -->|problem| REVISE & JUDGE",
    'FIRST["Review<br/>"]',
    "PROBLEM -->|problem| FIRST",
    "DRAFT -->|solution| FIRST",
    "DRAFT -->|solution| REVISE",
    "FIRST -->|feedback:feedback| REVISE",
    "REVISE -->|solution| JUDGE",
    "REVISE -->|input| SCORE",
    "SCORE -.->|again:input| SCORE",
    "REVISE -.->|again:solution| REVISE",
    "JUDGE -.->|again:feedback:feedback| REVISE",
    "REVISE --> RETURN",
)
"""A Loop that ends by itself."""

MAP = workflow(
    "SPLIT[\"Custom<br/>(role: split, returns: 'list[Text]')\"]",
    'subgraph ITEMS["Map (max: 9)"]',
    'WORK["Custom<br/>(role: work)"]',
    'RATE["Review<br/>"]',
    "FINE{Fine?}:::DecisionOp",
    "end",
    'JOIN["Custom<br/>(role: join)"]',
    "PROBLEM -->|input| SPLIT & JOIN",
    "PROBLEM -->|problem| RATE",
    "SPLIT -->|each:input| WORK",
    "WORK -->|solution| RATE",
    "WORK -->|value| FINE",
    "RATE -->|result:when| FINE",
    "FINE -->|yes:input| JOIN",
    "FINE -->|no:input| ASIDE",
    'ASIDE["Custom<br/>(role: aside)"]',
    "ASIDE -->|input| JOIN",
    "JOIN --> RETURN",
)
"""A Map whose items part at a Decision."""

VOTES = workflow(
    "SPLIT[\"Custom<br/>(role: split, returns: 'list[Text]')\"]",
    'subgraph TRIES["Map (max: 9)"]',
    'TRY["Custom<br/>(role: try)"]',
    'SHORTEN["Custom<br/>(role: shorten)"]',
    "end",
    'VOTE["ScEnsemble<br/>"]:::ScEnsembleOp',
    "PROBLEM -->|input| SPLIT & SHORTEN",
    "SPLIT -->|each:input| TRY",
    "TRY -->|input| SHORTEN",
    "SHORTEN -->|solutions| VOTE",
    "VOTE --> RETURN",
)
"""A Map whose results are voices."""

ROUNDS = workflow(
    'subgraph ROUNDS["Loop (max: 3)"]',
    'FIRST["Custom<br/>(role: one)"]',
    'SECOND["Custom<br/>(role: two)"]',
    'VOTE["ScEnsemble<br/>"]:::ScEnsembleOp',
    "end",
    'OUTLINE["Custom<br/>(role: outline)"]',
    "PROBLEM -->|input| FIRST & SECOND & OUTLINE",
    "FIRST & SECOND -->|solutions| VOTE",
    "OUTLINE -->|solutions| VOTE",
    "VOTE -.->|again:input| FIRST",
    "VOTE -.->|again:solutions| VOTE",
    "VOTE --> RETURN",
)
"""A Loop with an ensemble."""


class Defect(NamedTuple):
    """``old`` in ``base`` replaced by ``new``; then ``code`` is found at the text ``marked``, on the line with ``line``."""

    name: str
    base: str
    old: str
    new: str
    code: str
    marked: str
    line: str = ""

    @property
    def text(self) -> str:
        assert self.old in self.base, self.name
        return self.base.replace(self.old, self.new, 1)


_END = "CHECK -->|no:over| RETURN\n"

DEFECTS = [
    # Words out of place
    Defect(
        "again from outside",
        REFINE,
        _END,
        _END + 'HINT["Custom<br/>(role: hint)"]\nPROBLEM -->|input| HINT\nHINT -->|again:input| WRITE\n',
        "MW118",
        "again",
    ),
    Defect(
        "again to outside",
        REFINE,
        "CHECK -->|yes| RETURN",
        'LOG["Custom<br/>(role: log)"]\nWRITE -->|again:input| LOG\nCHECK -->|yes:input| LOG\nLOG --> RETURN',
        "MW118",
        "again",
    ),
    Defect(
        "again in no box",
        UNTIL,
        "DRAFT -->|solution| FIRST",
        "DRAFT -->|solution| FIRST\nDRAFT -->|again:input| DRAFT",
        "MW118",
        "again",
        "DRAFT -->|again",
    ),
    Defect("over inside", REFINE, _END, _END + "REVIEW -->|over:feedback:input| WRITE\n", "MW118", "over"),
    Defect(
        "over out of a Map",
        MAP,
        "ASIDE -->|input| JOIN",
        "ASIDE -->|input| JOIN\nWORK -->|over:input| JOIN",
        "MW118",
        "over",
    ),
    Defect("over from no Loop", MAP, "ASIDE -->|input| JOIN", "ASIDE -->|over:input| JOIN", "MW118", "over"),
    Defect("each into no Map", MAP, "ASIDE -->|input| JOIN", "ASIDE -->|each:input| JOIN", "MW118", "each", "ASIDE"),
    Defect("each within a Map", MAP, "WORK -->|solution| RATE", "WORK -->|each:solution| RATE", "MW118", "each"),
    Defect(
        "first where nothing comes again",
        REFINE,
        "PROBLEM -->|problem| REVIEW",
        "PROBLEM -->|first:problem| REVIEW",
        "MW118",
        "first",
    ),
    Defect(
        "first at another port",
        UNTIL,
        "PROBLEM -->|problem| REVISE & JUDGE",
        "PROBLEM -->|problem| JUDGE\nPROBLEM -->|first:problem| REVISE",
        "MW118",
        "first",
    ),
    Defect(
        "first inside",
        REFINE,
        "WRITE -->|solution| REVIEW",
        "WRITE -->|first:solution| REVIEW",
        "MW118",
        "first",
    ),
    Defect(
        "a case with again outside",
        MAP,
        "FINE -->|no:input| ASIDE",
        "FINE -->|no:again:input| ASIDE",
        "MW118",
        "again",
    ),
    # Borders
    Defect(
        "a path comes back",
        REFINE,
        "WRITE -->|solution| REVIEW",
        'SHORT["Custom<br/>(role: short)"]\nWRITE -->|input| SHORT\nSHORT -->|solution| REVIEW',
        "MW119",
        "SHORT",
        "SHORT[",
    ),
    Defect(
        "a path comes back into a Map",
        VOTES,
        "TRY -->|input| SHORTEN",
        'SORT["Custom<br/>(role: sort)"]\nTRY -->|input| SORT\nSORT -->|input| SHORTEN',
        "MW119",
        "SORT",
        "SORT[",
    ),
    Defect(
        "an output inside",
        REFINE,
        "CHECK{Good?}:::DecisionOp\nend",
        "CHECK{Good?}:::DecisionOp\nRETURN\nend",
        "MW120",
        "RETURN",
    ),
    Defect(
        "an edge to the output inside",
        UNTIL,
        'SCORE["Custom<br/>(role: score, returns: Number)"]\nend',
        'SCORE["Custom<br/>(role: score, returns: Number)"]\nSCORE --> RETURN2([Score]):::Interface\nend',
        "MW120",
        "RETURN2",
    ),
    Defect(
        "an input inside",
        REFINE,
        'WRITE["Custom<br/>(role: writer)"]\n',
        'WRITE["Custom<br/>(role: writer)"]\nPROBLEM -->|input| REVIEW2["Custom<br/>(role: x)"]\nREVIEW2 -->|input| WRITE\n',
        "MW120",
        "PROBLEM",
        "REVIEW2",
    ),
    Defect(
        "a Map without each", MAP, "SPLIT -->|each:input| WORK", "SPLIT -->|input| WORK", "MW121", "ITEMS", "subgraph"
    ),
    Defect(
        "metadata above end",
        REFINE,
        "CHECK{Good?}:::DecisionOp\nend",
        "CHECK{Good?}:::DecisionOp\nREFINE@{ view: collapsed }\nend",
        "MW122",
        "@{ view: collapsed }",
    ),
    Defect(
        "each of two lists",
        MAP,
        "SPLIT -->|each:input| WORK",
        "OTHER[\"Custom<br/>(role: two, returns: 'list[Text]')\"]\nPROBLEM -->|input| OTHER\n"
        "OTHER -->|each:input| WORK\nSPLIT -->|each:input| WORK",
        "MW222",
        "each",
        "SPLIT -->",
    ),
    Defect("each of no list", MAP, "(role: split, returns: 'list[Text]')", "(role: split)", "MW206", "each"),
    # What comes again
    Defect(
        "again of the wrong type",
        UNTIL,
        "REVISE -.->|again:solution| REVISE",
        "JUDGE -.->|again:result:solution| REVISE",
        "MW206",
        "again:result:solution",
    ),
    Defect(
        "again of another type than bound",
        UNTIL.replace("(role: draft)", "(role: draft, returns: Answer)"),
        "REVISE -.->|again:solution| REVISE",
        "JUDGE -.->|again:feedback:solution| REVISE",
        "MW206",
        "again:feedback:solution",
    ),
    Defect(
        "again to an unknown port",
        REFINE,
        "REVIEW -.->|again:feedback:input| WRITE",
        "REVIEW -.->|again:feedback:inptu| WRITE",
        "MW201",
        "inptu",
    ),
    Defect(
        "again of an unknown output",
        REFINE,
        "REVIEW -.->|again:feedback:input| WRITE",
        "REVIEW -.->|again:fedback:input| WRITE",
        "MW207",
        "fedback",
    ),
    Defect(
        "a port fed by again alone",
        UNTIL,
        "FIRST -->|feedback:feedback| REVISE\n",
        "FIRST -->|feedback:input| SCORE\n",
        "MW204",
        "REVISE",
        "REVISE[",
    ),
    Defect(
        "a node fed by again alone",
        ROUNDS,
        "PROBLEM -->|input| FIRST & SECOND & OUTLINE",
        "PROBLEM -->|input| SECOND & OUTLINE",
        "MW204",
        "FIRST",
        "FIRST[",
    ),
    Defect(
        "a value fed by again alone",
        REFINE,
        "WRITE -->|value| CHECK",
        "WRITE -->|again:value| CHECK",
        "MW204",
        "CHECK",
        "CHECK{",
    ),
    Defect(
        "fed by again and from inside",
        UNTIL,
        "REVISE --> RETURN\n",
        "REVISE --> RETURN\nREVISE -.->|again:solution| JUDGE\n",
        "MW205",
        "-.->|again:solution|",
        "| JUDGE",
    ),
    Defect(
        "two again edges at once",
        UNTIL,
        "REVISE --> RETURN\n",
        "REVISE --> RETURN\nREVISE -.->|again:solution| REVISE\n",
        "MW205",
        "-.->|again:solution|",
    ),
    Defect(
        "first into an ensemble",
        ROUNDS,
        "OUTLINE -->|solutions| VOTE",
        "OUTLINE -->|first:solutions| VOTE",
        "MW105",
        "first",
    ),
    # Ways out
    Defect("empty when the turns run out", REFINE, _END, "", "MW216", "RETURN", "RETURN(["),
    Defect("two ways over", REFINE, _END, "WRITE -->|over| RETURN\n" + _END, "MW205", "-->|no:over|"),
    # until and best
    Defect("until of an unknown node", UNTIL, "JUDGE.result", "JUGDE.result", "MW225", "JUGDE.result"),
    Defect("until of an unknown output", UNTIL, "JUDGE.result", "JUDGE.reslt", "MW225", "JUDGE.reslt"),
    Defect("until of a node outside", UNTIL, "JUDGE.result", "FIRST.result", "MW225", "FIRST.result"),
    Defect("until without an output", UNTIL, "JUDGE.result", "JUDGE", "MW225", "JUDGE", "subgraph"),
    Defect("until of an unknown name", UNTIL, "JUDGE.result", "done", "MW225", "done", "subgraph"),
    Defect("until of nothing", UNTIL, "JUDGE.result", "1 > 2", "MW225", "1 > 2"),
    Defect("until of text", UNTIL, "JUDGE.result", "JUDGE.feedback", "MW225", "JUDGE.feedback"),
    Defect("until that is not an expression", UNTIL, "JUDGE.result", "JUDGE.result >", "MW225", "JUDGE.result >"),
    Defect(
        "until of a node that may fail",
        UNTIL,
        'JUDGE["Review<br/>"]',
        'JUDGE["Review<br/>(on_error: skip)"]',
        "MW225",
        "JUDGE.result",
    ),
    Defect(
        "best of text",
        UNTIL,
        "until: JUDGE.result, best: SCORE.response",
        "until: SCORE.response > 3, best: REVISE.solution",
        "MW225",
        "REVISE.solution",
    ),
    Defect("best that is calculated", UNTIL, "SCORE.response", "SCORE.response * 2", "MW225", "SCORE.response * 2"),
    # Idle turns
    Defect(
        "a Loop without again",
        MAP,
        'JOIN["Custom<br/>(role: join)"]',
        'subgraph TALK["Loop (max: 2)"]\nJOIN["Custom<br/>(role: join)"]\nend',
        "MW124",
        "TALK",
        "subgraph",
    ),
    Defect(
        "a Loop whose again edges bring nothing",
        REFINE,
        "CHECK -->|no:again:input| WRITE\nREVIEW -.->|again:feedback:input| WRITE",
        "CHECK -->|no:again:after| WRITE",
        "MW124",
        "REFINE",
        "subgraph",
    ),
    Defect(
        "a Loop that whatever is chosen leads out of",
        REFINE,
        "CHECK -->|no:over| RETURN\n",
        'SORRY["Custom<br/>(role: sorry)"]\nCHECK -->|no:input| SORRY\nSORRY --> RETURN\n',
        "MW124",
        "REFINE",
        "subgraph",
    ),
    Defect("over that is never taken", REFINE, _END, _END + "CHECK -->|yes:over| RETURN\n", "MW125", "over"),
    # Boxes
    Defect(
        "a box without an id", MAP, 'subgraph ITEMS["Map (max: 9)"]', 'subgraph "Map (max: 9)"', "MW126", "Map (max: 9)"
    ),
    Defect("an empty box", REFINE, _END, _END + 'subgraph NONE["Loop (max: 2)"]\nend\n', "MW126", "NONE"),
    Defect(
        "a node in two boxes",
        MAP,
        'JOIN["Custom<br/>(role: join)"]',
        'subgraph TALK["Loop (max: 2)"]\nWORK\nJOIN["Custom<br/>(role: join)"]\nJOIN -.->|again:input| JOIN\nend',
        "MW126",
        "WORK",
    ),
    Defect("an unknown key", REFINE, "max: 4", "mx: 4", "MW304", "mx"),
    Defect("a key of a Map", REFINE, "max: 4", "max: 4, parallel: 2", "MW304", "parallel"),
    Defect(
        "an unknown key in the metadata",
        REFINE,
        "DecisionOp\nend",
        "DecisionOp\nend\nREFINE@{ mox: 5 }",
        "MW304",
        "mox",
    ),
    Defect("no turns", REFINE, "max: 4", "max: 0", "MW305", "0"),
    Defect("a million turns", REFINE, "max: 4", "max: 1000000", "MW305", "1000000"),
    Defect("half a turn", REFINE, "max: 4", "max: 2.5", "MW305", "2.5"),
    Defect("nothing in parallel", MAP, "max: 9", "max: 9, parallel: 0", "MW305", "0", "subgraph"),
    Defect("min above max", MAP, "max: 9", "max: 9, min: 10", "MW305", "10"),
    Defect("min above the usual max", MAP, "max: 9", "min: 101", "MW305", "101"),
    Defect(
        "an answer to failures that there is not", REFINE, "max: 4", "max: 4, on_error: default", "MW305", "default"
    ),
    Defect(
        "op of a subgraph", REFINE, _END, _END + "subgraph REST [Rest]\nRETURN\nend\nREST@{ op: Lop }\n", "MW305", "Lop"
    ),
    Defect("max twice", REFINE, "max: 4", "max: 4, max: 5", "MW307", "max"),
    Defect("max in both places", REFINE, "DecisionOp\nend", "DecisionOp\nend\nREFINE@{ max: 5 }", "MW306", "4"),
    Defect("a misspelled title", REFINE, "Loop (max: 4)", "Lop (max: 4)", "MW104", "Lop"),
    Defect("a title in small letters", REFINE, "Loop (max: 4)", "loop (max: 4)", "MW104", "loop"),
    Defect(
        "title and metadata disagree",
        REFINE,
        "DecisionOp\nend",
        "DecisionOp\nend\nREFINE@{ op: Map }",
        "MW107",
        "REFINE",
        "subgraph",
    ),
    Defect(
        "an edge to the box",
        ROUNDS,
        "OUTLINE -->|solutions| VOTE",
        "OUTLINE -->|solutions| VOTE\nOUTLINE -->|input| ROUNDS",
        "MW104",
        "ROUNDS",
        "OUTLINE -->|input| ROUNDS",
    ),
    # Lists that may be empty
    Defect(
        "voices of one case alone",
        MAP,
        "FINE -->|yes:input| JOIN",
        'FINE -->|yes:solutions| VOTE\nVOTE["ScEnsemble<br/>"]:::ScEnsembleOp\n'
        "classDef ScEnsembleOp fill:#eee\nVOTE -->|input| JOIN",
        "MW223",
        "yes:solutions",
    ),
    Defect("voices with min 0", VOTES, "max: 9", "max: 9, min: 0", "MW223", "solutions"),
    Defect("voices that may fail", VOTES, "(role: shorten)", "(role: shorten, on_error: skip)", "MW223", "solutions"),
    Defect(
        "voices behind what may fail",
        VOTES.replace("SPLIT & SHORTEN", "SPLIT"),
        "(role: try)",
        "(role: try, on_error: skip)",
        "MW223",
        "solutions",
    ),
    Defect(
        "items of another Map",
        MAP,
        "FINE -->|yes:input| JOIN",
        'subgraph MORE["Map (max: 9)"]\nNEXT["Custom<br/>(role: next)"]\nend\n'
        "FINE -->|yes:each:input| NEXT\nNEXT -->|input| JOIN",
        "MW223",
        "yes:each:input",
    ),
]
