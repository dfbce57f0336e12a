"""Commands of the group "Run"."""
