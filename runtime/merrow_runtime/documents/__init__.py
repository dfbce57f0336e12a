"""Stores: documents in files, and texts that runs have kept; found by their words."""
