"""What stands at a place of the text."""
