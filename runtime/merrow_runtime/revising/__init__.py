"""Revisions: the graph of a run changes during the run, and results that are still valid are kept."""
