"""Moves between files: a part becomes a file that is called (`extract`), a Call is replaced by its file's nodes (`inline`).

They work on the text, not on a `GraphChange`, because the resulting graph depends on two files. So each is analysed as a whole
before it is offered, and what it does is compared with what was there before (`meaning`). None is chosen at random: a chain of
mutants has no second file.
"""
