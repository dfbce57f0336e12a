"""What editors ask about a text, answered by pure functions of its analysis: one file a feature."""
