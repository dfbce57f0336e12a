"""The text output of commands, as lines."""
