"""Changes that are offered where somebody looks: mutations, repairs, missing files."""
