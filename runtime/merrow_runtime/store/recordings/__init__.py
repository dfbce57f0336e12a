"""Recordings: files with the calls of a run, of a workflow's cases, or of all model answers, to be replayed."""
