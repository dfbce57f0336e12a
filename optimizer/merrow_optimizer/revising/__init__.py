"""Models that change the graph of a run during the run."""
