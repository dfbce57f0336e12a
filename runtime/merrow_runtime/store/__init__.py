"""Persistent data: the journal of runs, the cache of answers, recordings."""
