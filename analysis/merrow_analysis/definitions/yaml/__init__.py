"""YAML as Mermaid reads it, with the place of every key and value."""
