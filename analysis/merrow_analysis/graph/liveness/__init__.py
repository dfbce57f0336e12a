"""What runs, under which choices of Decisions."""
