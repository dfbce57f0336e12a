"""Plans of a task, made ready and reported as plain data and in words, for the command line and for editors."""
