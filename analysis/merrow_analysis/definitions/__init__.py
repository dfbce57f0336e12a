"""What a workflow may use: types, operators, parameters, prompts, front matter."""
