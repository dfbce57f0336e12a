"""What is followed while it goes on: runs, evaluations, searches and plans."""
