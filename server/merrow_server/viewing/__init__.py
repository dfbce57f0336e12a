"""Pages in a browser: a workflow file that is followed, and jobs of the journal."""
