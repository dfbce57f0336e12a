"""Improvements of a workflow suggested by a model: requested, checked, repaired, judged. Nothing is applied unchecked."""
