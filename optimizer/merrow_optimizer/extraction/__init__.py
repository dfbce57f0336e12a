"""Operators extracted from solved cases: a module a stage. A model names, words and proposes; the program types, checks and
chooses.
"""
