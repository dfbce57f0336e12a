"""Searches carried out: candidates answered by an endpoint, kept in the journal, and read at the end on held-out items."""
