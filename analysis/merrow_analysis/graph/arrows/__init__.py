"""What arrows mean by where they lead: loops, and which of them start a step."""
