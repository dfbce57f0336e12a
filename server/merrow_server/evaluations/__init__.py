"""Evaluations for people: made ready from what they ask for, and as plain data, the same for every front door."""
