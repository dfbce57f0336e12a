"""Changes offered at a position: mutations, repairs, missing files."""
