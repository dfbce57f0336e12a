"""Operators extracted from solved cases, one module per stage. A model proposes operators with names and prompts; the program
types, checks and chooses.
"""
