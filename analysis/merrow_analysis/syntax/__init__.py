"""Mermaid flowchart syntax."""
