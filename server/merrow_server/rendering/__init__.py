"""Output formats of findings: for people, for programs, for code scanning and for pull requests."""
