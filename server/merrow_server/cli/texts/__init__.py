"""What commands print, as lines of text."""
