"""What is named in a file, and where."""
