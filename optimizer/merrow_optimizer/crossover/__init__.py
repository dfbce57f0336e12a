"""Two workflows cut at matching typed interfaces, and their children."""
