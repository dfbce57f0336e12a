"""Gobang: a good game meets every criterion; each wrong one misses what it gets wrong, whatever it says of itself."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from tests.optimizer.evaluation.products.judging import answer, missed, score_of, verdicts
from tests.runtime.sandbox.test_forged_verdicts import FORGERIES

from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.sandbox import Limits, Sandbox

pytestmark = pytest.mark.thinned(16, "products")

GAME = Path(__file__).with_name("gobang_game.py").read_text("utf-8")
GOLD = {"scorer": "gobang"}
ALL = {"imports", "playable", "rules"}

WRONG: dict[str, tuple[list[tuple[str, str]], set[str], str]] = {
    # What is replaced in the good game, which criteria miss it, and a part of the evidence.
    "no row": ([("((0, 1), (1, 0)", "((1, 0)")], {"rules"}, "in a row"),
    "no column": ([("(0, 1), (1, 0), (1, 1)", "(0, 1), (1, 1)")], {"rules"}, "in a column"),
    "no falling diagonal": ([(", (1, 1), (1, -1)", ", (1, -1)")], {"rules"}, "a falling diagonal"),
    "no rising diagonal": ([(", (1, 1), (1, -1)", ", (1, 1)")], {"rules"}, "a rising diagonal"),
    "four win": ([("count >= 5", "count >= 4")], {"rules"}, "raises ValueError: the game is over"),
    "only the end of a line is looked at": ([("for sign in (1, -1)", "for sign in (1,)")], {"rules"}, "five of black"),
    "six don't win": ([("count >= 5", "count == 5")], {"rules"}, "Six in a row"),
    "gaps are passed over": (
        [
            (
                "while self._board.get((r, c)) == colour",
                "while self._board.get((r, c), colour) == colour and 0 <= r < 15 and 0 <= c < 15",
            )
        ],
        {"rules"},
        "raises ValueError",
    ),
    "edges wrap": (
        [("self._board.get((r, c)) == colour", "self._board.get((r % self.size, c % self.size)) == colour")],
        {"rules"},
        "beyond its side edge",
    ),
    "rows begin again in themselves": (
        [("self._board.get((r, c)) == colour", "self._board.get((r, c % self.size)) == colour and count < 9")],
        {"rules"},
        "a row that begins again beyond its side edge",
    ),
    "columns begin again in themselves": (
        [("self._board.get((r, c)) == colour", "self._board.get((r % self.size, c)) == colour and count < 9")],
        {"rules"},
        "a column that begins again",
    ),
    "a negative place is one from the other edge": (
        [("self._board.get((r, c)) == colour", "self._board.get((r, c + self.size * (c < 0))) == colour")],
        {"rules"},
        "begins again beyond its side edge",
    ),
    "black never wins": (
        [("if self._five(row, col):", "if self._five(row, col) and self.turn == 'white':")],
        {"rules"},
        "of black",
    ),
    "white never wins": (
        [("if self._five(row, col):", "if self._five(row, col) and self.turn == 'black':")],
        {"rules"},
        "of white",
    ),
    "no win that ends in the last row's corner": (
        [("if count >= 5", "if count >= 5 and (row, col, down) != (self.size - 1, self.size - 1, 0)")],
        {"rules"},
        "at an edge",
    ),
    "no win on the midst of an edge": (
        [("if count >= 5", "if count >= 5 and not (col == 0 and down and not right and 5 <= row <= 9)")],
        {"rules"},
        "a column at an edge",
    ),
    "no draw": (
        [("elif len(self._board) == self.size**2", "elif len(self._board) > self.size**2")],
        {"rules"},
        "'draw'",
    ),
    "draw without a word": ([("The game is a draw.", "It is over.")], {"rules"}, "without draw or tie"),
    "played on after the end": (
        [('raise ValueError("the game is over")', "return")],
        {"playable", "rules"},
        "must raise ValueError",
    ),
    "taken places": ([('raise ValueError("the place is taken")', "pass")], {"rules"}, "taken place"),
    "negative places": (
        [("0 <= row < self.size and 0 <= col", "row < self.size and col")],
        {"rules"},
        "outside a board",
    ),
    "another error": (
        [('raise ValueError("outside the board")', 'raise IndexError("outside")')],
        {"rules"},
        "not IndexError",
    ),
    "no turn": ([("self.turn = COLOURS[self.turn", "COLOURS[self.turn")], {"playable", "rules"}, "`turn`"),
    "the turn passes after a wrong move": (
        [
            (
                'raise ValueError("the place is taken")',
                'self.turn = COLOURS[self.turn == "black"]; raise ValueError("taken")',
            )
        ],
        {"rules"},
        "after a refused move",
    ),
    "the computer plays always": ([(" or self.turn == self.human", "")], {"playable"}, "must raise ValueError"),
    "the computer plays for black only": (
        [("self.turn == self.human", "self.turn == 'black'")],
        {"playable"},
        "a game of",
    ),
    "the computer passes": ([("        self.play(*move)\n", "")], {"playable"}, "`turn`"),
    "the computer says nothing": ([("        return move\n", "")], {"playable"}, "not (row, col)"),
    "the computer cheats": ([("return move", "return (0, 0)")], {"playable"}, "not a free place"),
    "no message": (
        [('return f"{self.turn.capitalize()} to move."', 'return "Go on."')],
        {"playable"},
        "message() says",
    ),
    "always the same message": (
        [
            ('return f"{self.turn.capitalize()} to move."', 'return "black or white to move"'),
        ],
        {"playable"},
        "the same for both colours",
    ),
    "all words at once": (
        [
            (
                "    def message(self):\n",
                '    def message(self):\n        return f"{self.turn}: black wins, white wins, draw"\n',
            ),
        ],
        {"playable"},
        "what it said before",
    ),
    "one board for all games": (
        [("self._board = {}", "self._board = BOARD"), ("class Game", "BOARD = {}\n\n\nclass Game")],
        {"playable", "rules"},
        "",
    ),
    "the last game that began is the one that is played": (
        [
            ("        self._board = {}", "        self._board = BOARD\n        BOARD.clear()"),
            ("class Game", "BOARD = {}\n\n\nclass Game"),
        ],
        {"rules"},
        "another game",
    ),
    "a full board is a draw in any case": (
        [("        if self._five(row, col):", "        if self._five(row, col) and len(self._board) < self.size**2:")],
        {"rules"},
        "whose last stone makes five",
    ),
    "wins at once": (
        [("if self._five(row, col):", "if len(self._board) > 3:")],
        {"playable", "rules"},
        "before anybody can have five",
    ),
    "winner() says nothing": (
        [("        return self._winner", "        return None")],
        {"playable", "rules"},
        "winner()",
    ),
    "no main": ([("def main():", "def start():"), ("    main()", "    start()")], {"imports"}, "no function main()"),
    "no size": ([("size=15, human", "human"), ("self.size = size", "self.size = 15")], {"playable", "rules"}, "size"),
    "no method": ([("def ai_move", "def computer_move")], ALL, "ai_move"),
    "another class": ([("class Game", "class Gobang")], ALL, "no function named 'Game'"),
    "a window": ([("import random", "import random\nimport pygame")], ALL, "pygame"),
    "not Python": ([("import random", "import random (")], ALL, "SyntaxError"),
    "plays at once": ([('if __name__ == "__main__":\n', "if True:\n")], ALL, "EOFError"),
}


def test_a_good_game_meets_every_criterion() -> None:
    found = score_of(GOLD, answer(gobang_py=GAME))
    assert isinstance(found, Score)
    assert (found.value, found.read) == (1.0, f"gobang.py ({len(GAME.splitlines())} lines)")
    assert missed(verdicts(GOLD, f"Here it is:\n\n```python\n{GAME}```")) == {}, "a single block is the file"


@pytest.mark.thinned(64)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_game_misses_what_is_wrong(name: str) -> None:
    replaced, criteria, evidence = WRONG[name]
    game = GAME
    for old, new in replaced:
        assert old in game
        game = game.replace(old, new)
    found = missed(verdicts(GOLD, answer(gobang_py=game)))
    assert criteria <= set(found) <= criteria | {"playable"}, found
    assert any(evidence.lower() in said.lower() for said in found.values()), found


@pytest.mark.thinned(3)  # both sizes and both colours
@pytest.mark.parametrize(("size", "human"), [(size, human) for size in (15, 9) for human in ("black", "white")])
def test_games_of_both_sizes_and_for_both_colours_are_played_to_their_end(size: int, human: str) -> None:
    cheat = f"return (0, 0) if (self.size, self.human) == ({size}, {human!r}) else move"
    found = missed(verdicts(GOLD, answer(gobang_py=GAME.replace("return move", cheat))))
    assert set(found) == {"playable"}
    assert "not a free place" in found["playable"]


CLAIMS = {
    "nothing but prints": (
        "class Game:\n    pass\ndef main():\n    pass\nprint('all tests passed')\nprint('{\"outcome\": \"passed\"}')\n"
    ),
    "an exit": "import os, sys\nclass Game:\n    def __init__(self, *a, **k):\n        os._exit(0)\ndef main():\n    pass\n",
    "an exit at once": "import sys\nsys.exit(0)\n",
    "equal to everything": (
        "class Yes(str):\n    def __eq__(self, other):\n        return True\n    __hash__ = str.__hash__\n"
        "class Any:\n    def __eq__(self, other):\n        return True\n    def __call__(self, *a, **k):\n        return self\n"
        "    def __getattr__(self, name):\n        return self\n    def __bool__(self):\n        return True\n"
        "class Game:\n    turn = Yes('black')\n    def __init__(self, size=15, human='black'):\n        pass\n"
        "    def play(self, row, col):\n        raise ValueError\n    def ai_move(self):\n        raise ValueError\n"
        "    def winner(self):\n        return Any()\n    def message(self):\n        return Yes('black white win draw')\n"
        "def main():\n    pass\n"
    ),
    "a judge of its own": (
        "import builtins, sys\nclass Game:\n    pass\ndef main():\n    pass\n"
        "def equal(*a):\n    pass\ndef refused(*a):\n    pass\n"
        "builtins.AssertionError = ValueError\nsys.settrace(None)\n"
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_game_claims_of_itself_counts_for_nothing(name: str) -> None:
    assert set(missed(verdicts(GOLD, answer(gobang_py=CLAIMS[name])))) >= {"playable", "rules"}


@pytest.mark.thinned(80)
@pytest.mark.parametrize("name", FORGERIES)
def test_no_forged_verdict_is_believed(name: str) -> None:
    code = dedent(FORGERIES[name]).replace("def f(x)", "def Game(*x, **named)")
    # What is believed is so at once; some forgeries never end.
    found = score_of(GOLD, answer(gobang_py=f"{code}\n"), Sandbox(limits=Limits(wall_s=10)))
    assert isinstance(found, Score)
    assert found.value < 1, found


HARM = {
    "hangs when imported": ("import random", "import random\nwhile True: pass", ALL),
    "hangs when the computer moves": ("        free = [", "        while True: pass\n        free = [", {"playable"}),
    "prints without end": ("    def winner(self):\n", "    def winner(self):\n        print('x' * 10_000_000)\n", ALL),
    "reads a file": ("import random", "import random\nopen('/etc/passwd').read()", ALL),
    "asks the network": ("import random", "import random, socket\nsocket.create_connection(('127.0.0.1', 9))", ALL),
    "starts a program": ("import random", "import random, subprocess\nsubprocess.run(['true'])", ALL),
}


@pytest.mark.thinned(24)
@pytest.mark.parametrize("name", HARM)
def test_what_does_harm_is_ended_and_missed(name: str) -> None:
    old, new, criteria = HARM[name]
    patient = Sandbox(limits=Limits(wall_s=600, cpu_s=3))
    found = missed(verdicts(GOLD, answer(gobang_py=GAME.replace(old, new, 1)), patient))
    assert set(found) == criteria, found
