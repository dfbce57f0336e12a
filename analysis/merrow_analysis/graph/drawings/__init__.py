"""How drawings without operators are read, and node by node written anew."""
