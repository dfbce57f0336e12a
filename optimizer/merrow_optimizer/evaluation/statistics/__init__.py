"""The uncertainty of a score, and whether two scores differ: intervals, paired tests, repeats. Standard library only."""
