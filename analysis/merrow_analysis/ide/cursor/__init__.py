"""What is at a position of the text."""
