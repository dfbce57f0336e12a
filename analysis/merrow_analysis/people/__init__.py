"""What people are asked in a run: the forms of questions, and whether an answer fits its form."""
