"""What takes long and editors watch: runs, evaluations, searches, plans, suggestions."""
