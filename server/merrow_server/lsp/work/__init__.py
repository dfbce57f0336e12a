"""Long-running work that editors follow: runs, evaluations, searches, plans, suggestions."""
