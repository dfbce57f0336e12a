"""The tests of Gobang: they run in a process of their own and see nothing of the game but its answers to calls.

What is a five and what isn't follows from the moves that they make, never from what the game says of itself.
"""

from __future__ import annotations

_SHARED = """
import random

COLOURS = ("black", "white")
DIRECTIONS = {"a row": (0, 1), "a column": (1, 0), "a falling diagonal": (1, 1), "a rising diagonal": (-1, 1)}


def refused(what, call, *arguments):
    try:
        call(*arguments)
    except ValueError:
        return
    except Exception as error:
        raise AssertionError(f"{what} must raise ValueError, not {type(error).__name__}") from None
    raise AssertionError(f"{what} must raise ValueError")


def done(what, call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        raise AssertionError(f"{what} raises {type(error).__name__}: {error}"[:300]) from None


def equal(what, found, wanted):
    assert type(found) is type(wanted) and found == wanted, f"{what} is {found!r:.60}, not {wanted!r}"


def message_of(game, what, *words):
    said = game.message()
    assert type(said) is str and any(word in said.lower() for word in words), (
        f"{what}: message() says {said!r:.80}, without {' or '.join(words)}"
    )


def play(game, what, moves):
    place = game.play
    for number, (row, col) in enumerate(moves):
        if number in (0, 1, len(moves) - 1):
            equal(f"{what}: `turn` before move {number + 1}", game.turn, COLOURS[number % 2])
        if number == len(moves) - 1:
            equal(f"{what}: winner() before the last move", game.winner(), None)
        done(f"{what}: play({row}, {col}) as move {number + 1}", place, row, col)


def over(game, what, winner, free=None):
    equal(f"{what}: winner()", game.winner(), winner)
    words = ("draw", "tie") if winner == "draw" else (winner,)
    message_of(game, what, *words)
    if winner != "draw":
        message_of(game, what, "win", "won", "victory")
    if free is not None:
        refused(f"{what}: play() after the end", game.play, *free)
    refused(f"{what}: ai_move() after the end", game.ai_move)


def alternating(colour, mine, others):
    # The stones of `colour` in their order; the other side plays `others` as long as there is need.
    moves = []
    others = list(others)
    for index, cell in enumerate(mine):
        if colour == "white":
            moves.append(others[index])
        moves.append(cell)
        if colour == "black" and index < len(mine) - 1:
            moves.append(others[index])
    return moves


def apart(size, taken):
    # Free cells of which no two touch each other.
    free = [(row, col) for row in range(0, size, 2) for col in range(0, size, 2) if (row, col) not in taken]
    return random.Random(len(taken)).sample(free, len(free))
"""

_IMPORTS = """
for name in ("play", "ai_move", "winner", "message"):
    assert callable(getattr(candidate(), name)), f"Game has no method {name}()"
equal("`turn` of a new game", candidate().turn, "black")
equal("winner() of a new game", candidate().winner(), None)
assert "main" in globals() and callable(main), "the module has no function main()"
"""

_WHOLE_GAME = """
size, human, seed = {arguments}
choices = random.Random(seed)
what = f"a game of {human} against the computer"
game = candidate(size=size, human=human)
place, answer, winner = game.play, game.ai_move, game.winner
free = {(row, col) for row in range(size) for col in range(size)}
ended, said = None, {}
while ended is None:
    number = size * size - len(free)
    assert free, f"{what}: the board is full, and winner() is still None"
    turn = COLOURS[number % 2]
    equal(f"{what}: `turn` before move {number + 1}", game.turn, turn)
    if number < 4:
        message_of(game, f"{what}, {turn} to move", turn)
        said[turn] = game.message()
    if turn == human:
        if number < 4:
            refused(f"{what}: ai_move() on the turn of {human}", answer)
        move = choices.choice(sorted(free))
        done(f"{what}: play{move} as move {number + 1}", place, *move)
    else:
        found = done(f"{what}: ai_move() as move {number + 1}", answer)
        assert type(found) in (tuple, list) and len(found) == 2 and all(type(each) is int for each in found), (
            f"{what}: ai_move() returns {found!r:.60}, not (row, col)"
        )
        move = tuple(found)
        assert move in free, f"{what}: ai_move() returns {move}, which is not a free place"
    free.discard(move)
    ended = winner()
assert ended in (*COLOURS, "draw"), f"{what}: winner() is {ended!r:.60} at the end"
assert ended == "draw" or size * size - len(free) >= 9, f"{what}: winner() is {ended!r} before anybody can have five"
assert said["black"] != said["white"], f"{what}: message() says the same for both colours: {said['black']!r:.80}"
assert game.message() not in said.values(), f"{what}: message() says at the end what it said before: {game.message()!r:.80}"
over(game, what, ended, min(free) if free else None)
"""

_FIVES = """
size, colour = {arguments}
chosen = random.Random(5)
for name, (down, right) in DIRECTIONS.items():
    starts = [
        (row, col)
        for row in range(size)
        for col in range(size)
        if 0 <= row + 4 * down < size and 0 <= col + 4 * right < size
    ]
    by_column = sorted(starts, key=lambda start: (start[1], start[0]))
    picked = [starts[0], starts[-1], by_column[0], by_column[-1], *chosen.sample(starts, 1)]
    for turn, (row, col) in enumerate(picked):
        five = [(row + step * down, col + step * right) for step in range(5)]
        last = (turn + 2) % 5
        order = [cell for step, cell in enumerate(five) if step != last] + [five[last]]
        other = apart(size, set(five))
        what = f"five of {colour} in {name} from {five[0]} to {five[-1]}, the last at {five[last]}"
        game = candidate(size=size)
        play(game, what, alternating(colour, order, other))
        over(game, what, colour, other[-1])
"""

_EDGES = """
# Every five that has an end at an edge of the board, those in corners among them; the colours take turns.
size = {arguments}
edge = {0, size - 1}
number = 0
for name, (down, right) in DIRECTIONS.items():
    for row in range(size):
        for col in range(size):
            five = [(row + step * down, col + step * right) for step in range(5)]
            inside = 0 <= five[4][0] < size and 0 <= five[4][1] < size
            if not inside or not edge.intersection((*five[0], *five[4])):
                continue
            number += 1
            colour = COLOURS[number % 2]
            # The stone nearest to a corner or edge comes last.
            last = max((0, 4), key=lambda end: sum(each in edge for each in five[end]))
            order = [cell for step, cell in enumerate(five) if step != last] + [five[last]]
            what = f"five of {colour} in {name} at an edge, from {five[0]} to {five[-1]}, the last at {five[last]}"
            game = candidate(size=size)
            place, moves = game.play, alternating(colour, order, apart(size, set(five)))
            for cell in moves[:-1]:
                place(*cell)
            equal(f"{what}: winner() before the last move", game.winner(), None)
            place(*moves[-1])
            equal(f"{what}: winner()", game.winner(), colour)
"""

_NO_FIVES = """
size = 15


def round_the_edges(size):
    # Three stones up to an edge and two beyond it, where rows, columns or both begin again in themselves.
    found = {}
    for name, (down, right) in DIRECTIONS.items():
        for edge, start_row, start_col in (
            ("its side edge", 7, 0 if right < 0 else size - 1),
            ("its upper or lower edge", 0 if down < 0 else size - 1, 7),
            ("a corner", 0 if down < 0 else size - 1, 0 if right < 0 else size - 1),
        ):
            cells = [(start_row + step * down, start_col + step * right) for step in range(-2, 3)]
            if not all(0 <= row < size and 0 <= col < size for row, col in cells):
                found[f"{name} that begins again beyond {edge}"] = [(row % size, col % size) for row, col in cells]
    return found


for name, mine in {
    "four in a row, a gap, and one more": [(7, 3), (7, 4), (7, 5), (7, 6), (7, 8)],
    "two and two with a gap in a diagonal, and one more": [(3, 3), (4, 4), (6, 6), (7, 7), (9, 9)],
    **round_the_edges(size),
    "a row that goes on at the other edge": [(5, 12), (5, 13), (5, 14), (6, 0), (6, 1)],
    "a column that goes on at the other edge": [(12, 5), (13, 5), (14, 5), (0, 6), (1, 6)],
    "a diagonal that goes on at the other edge": [(3, 12), (4, 13), (5, 14), (7, 0), (8, 1)],
    "a rising diagonal that goes on at the other edge": [(3, 2), (4, 1), (5, 0), (5, 14), (6, 13)],
    "a corner of five": [(7, 3), (7, 4), (7, 5), (8, 5), (9, 5)],
    "four on the edge": [(0, 11), (0, 12), (0, 13), (0, 14), (2, 2)],
}.items():
    for colour in COLOURS:
        game = candidate(size=size)
        moves = alternating(colour, mine, apart(size, set(mine)))
        play(game, f"{name}, of {colour}", moves)
        equal(f"{name}, of {colour}: winner()", game.winner(), None)
blocked = [(7, 3), (7, 5), (7, 4), (0, 0), (7, 6), (0, 2), (7, 7), (0, 4), (7, 8)]
game = candidate()
play(game, "six places of a row with a stone of white among them", blocked)
equal("six places of a row with a stone of white among them: winner()", game.winner(), None)
six = [(7, 3), (7, 4), (7, 5), (7, 7), (7, 8), (7, 6)]
game = candidate()
play(game, "six in a row", alternating("black", six, apart(size, set(six))))
over(game, "six in a row", "black", (13, 13))
"""

_ILLEGAL = """
for size in (15, 9):
    game = candidate(size=size)
    game.play(0, 0)
    for row, col in ((-1, 0), (0, -1), (-1, -1), (size, 0), (0, size), (size, size)):
        refused(f"play({row}, {col}) outside a board of {size}", game.play, row, col)
    refused("play() on a taken place", game.play, 0, 0)
    equal("`turn` after a refused move", game.turn, "white")
    game.play(size - 1, size - 1)
    refused("play() on a place of one's own or the other side", game.play, 0, 0)
    equal("`turn` after a refused move", game.turn, "black")
    equal("winner() after two stones", game.winner(), None)
"""

_DRAW = """
size = {arguments}
cells = [(row, col) for row in range(size) for col in range(size)]
black = [(row, col) for row, col in cells if (col + 2 * row) // 2 % 2 == 0]
white = [cell for cell in cells if cell not in black]
moves = [cell for pair in zip(black, white) for cell in pair] + black[len(white) :]
game = candidate(size=size)
play(game, f"a full board of {size} without five", moves)
over(game, f"a full board of {size} without five", "draw", (0, 0))
"""

_LAST_STONE = """
black = [(1, 2), (1, 3), (2, 4), (2, 0), (3, 1), (3, 2), (4, 3), (4, 4), (0, 0), (0, 1), (0, 3), (0, 4), (0, 2)]
white = [(row, col) for row in range(5) for col in range(5) if (row, col) not in black]
what = "a full board of 5 whose last stone makes five"
game = candidate(size=5)
play(game, what, [cell for pair in zip(black, white) for cell in pair] + black[-1:])
over(game, what, "black", (0, 0))
"""

_TWO_GAMES = """
first, second = candidate(), candidate(size=9)
play(first, "a game beside another one", alternating("black", [(7, col) for col in range(5)], apart(15, {(7, 0)})))
over(first, "a game beside another one", "black", (14, 14))
equal("`turn` of another game than the one that was played", second.turn, "black")
equal("winner() of another game than the one that was played", second.winner(), None)
done("play(7, 0) in another game than the one where that place is taken", second.play, 7, 0)
"""


def _test(text: str, arguments: object = None) -> str:
    return _SHARED + text.replace("{arguments}", repr(arguments))


IMPORTS = (_test(_IMPORTS),)
PLAYABLE = tuple(
    _test(_WHOLE_GAME, (size, human, seed)) for size, seed in ((15, 1), (9, 2)) for human in ("black", "white")
)
RULES = (
    *(_test(_FIVES, (size, colour)) for size in (15, 9) for colour in ("black", "white")),
    _test(_EDGES, 15),
    _test(_NO_FIVES),
    _test(_ILLEGAL),
    _test(_DRAW, 6),
    _test(_DRAW, 15),
    _test(_LAST_STONE),
    _test(_TWO_GAMES),
)
