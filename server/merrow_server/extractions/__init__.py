"""Extractions of operators as the command line shows them: made ready, in words, and as files."""
