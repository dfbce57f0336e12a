"""Findings as a client gets them, of workflows and of the files beside them."""
