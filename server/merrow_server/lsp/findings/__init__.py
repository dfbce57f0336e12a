"""Findings as sent to a client, for workflows and the files beside them."""
