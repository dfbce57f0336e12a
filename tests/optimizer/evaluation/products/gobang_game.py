# ruff: noqa: T201
"""Gobang on a terminal, against a simple computer player."""

import random

COLOURS = ("black", "white")


class Game:
    """A game on a board of size times size; black begins. ``human`` is the colour that the person plays."""

    def __init__(self, size=15, human="black"):
        if human not in COLOURS:
            raise ValueError("human is black or white")
        self.size = size
        self.human = human
        self.turn = "black"
        self._board = {}
        self._winner = None

    def play(self, row, col):
        """Place a stone of the colour whose turn it is."""
        if self._winner is not None:
            raise ValueError("the game is over")
        if not (0 <= row < self.size and 0 <= col < self.size):
            raise ValueError("outside the board")
        if (row, col) in self._board:
            raise ValueError("the place is taken")
        self._board[row, col] = self.turn
        if self._five(row, col):
            self._winner = self.turn
        elif len(self._board) == self.size**2:
            self._winner = "draw"
        self.turn = COLOURS[self.turn == "black"]

    def ai_move(self):
        """A random stone beside another one, for the computer."""
        if self._winner is not None or self.turn == self.human:
            raise ValueError("it is not the computer's turn")
        free = [(r, c) for r in range(self.size) for c in range(self.size) if (r, c) not in self._board]
        near = [(r, c) for r, c in free if any((r + i, c + j) in self._board for i in (-1, 0, 1) for j in (-1, 0, 1))]
        move = random.choice(near or free)
        self.play(*move)
        return move

    def winner(self):
        return self._winner

    def message(self):
        if self._winner == "draw":
            return "The game is a draw."
        if self._winner is not None:
            return f"{self._winner.capitalize()} wins!"
        return f"{self.turn.capitalize()} to move."

    def _five(self, row, col):
        colour = self._board[row, col]
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            count = 1
            for sign in (1, -1):
                r, c = row + sign * down, col + sign * right
                while self._board.get((r, c)) == colour:
                    count += 1
                    r, c = r + sign * down, c + sign * right
            if count >= 5:
                return True
        return False


def main():
    human = input("Your colour (black or white): ").strip()
    game = Game(human=human)
    while game.winner() is None:
        print(game.message())
        if game.turn == human:
            try:
                game.play(*map(int, input("row col: ").split()))
            except ValueError as error:
                print(error)
        else:
            print("I play", game.ai_move())
    print(game.message())


if __name__ == "__main__":
    main()
