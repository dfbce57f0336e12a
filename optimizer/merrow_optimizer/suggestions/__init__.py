"""Improvements of a workflow that a model suggests: asked for, checked, repaired, judged. Nothing of it is applied unchecked."""
