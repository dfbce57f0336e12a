"""What is in Loops and Maps, what crosses their borders, when they end."""
