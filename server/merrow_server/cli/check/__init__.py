"""Commands of the group "Check"."""
