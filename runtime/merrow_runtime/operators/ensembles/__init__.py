"""Operators that choose among several solutions."""
