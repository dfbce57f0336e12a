"""Models that change the graph of a run while it goes on."""
