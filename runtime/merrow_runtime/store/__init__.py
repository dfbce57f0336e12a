"""What outlives a process: the journal of runs, the cache of answers, recordings."""
