"""Shows progress of runs, evaluations, searches and plans."""
