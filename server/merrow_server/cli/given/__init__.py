"""What people give commands, and how Merrow helps them: shell completion, prompts for inputs, runs given without an id."""
