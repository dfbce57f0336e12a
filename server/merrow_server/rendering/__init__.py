"""How findings are shown: for people, for machines, for code scanning and for pull requests."""
