"""Rules about Loops and Maps: their contents, the edges across their borders, and when they end."""
