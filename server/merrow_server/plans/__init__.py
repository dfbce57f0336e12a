"""Plans for a task: prepared, and reported as plain data and as text, for the command line and for editors."""
