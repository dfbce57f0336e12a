"""Commands of the group "Evaluate"."""
