"""Moves between files: a part becomes a file that is called (`extract`), a Call gives way to what its file does (`inline`).

They are made of the text, not of a `GraphChange`: which graph follows is a matter of two files. So each is analysed as a whole
before it is offered, and compared in what it does with what was there (`meaning`). None is drawn at random: a chain of
mutants has no second file.
"""
