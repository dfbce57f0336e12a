"""Suggestions made ready, as plain data and in words, for the command line and for editors."""
