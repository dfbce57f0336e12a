"""Carries out searches: candidates are run with an endpoint, stored in the journal, and compared at the end on held-out items."""
