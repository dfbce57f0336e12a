"""What a run, a workflow's cases or all answers of models left in a file, to be repeated from it."""
