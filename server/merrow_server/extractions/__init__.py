"""Extractions of operators for the command line: prepared, reported as text, and written as files."""
