"""Evaluations: prepared from what the user asks for, and reported as plain data, the same for all interfaces."""
