"""Fixes that several rules share."""
