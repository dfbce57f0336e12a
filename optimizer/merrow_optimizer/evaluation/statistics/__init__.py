"""How sure a score is, and whether two differ: intervals, paired tests, repeats. Standard library only."""
