"""Reading drawings without operators, and updating what was read after an edit."""
