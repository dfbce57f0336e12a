"""Commands of the group "Improve"."""
