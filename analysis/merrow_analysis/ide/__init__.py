"""Editor features as pure functions of an analysis, one file per feature."""
