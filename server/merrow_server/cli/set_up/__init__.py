"""Commands of the group "Set up"."""
