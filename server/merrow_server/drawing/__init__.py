"""Pictures of flowcharts: Mermaid, as the extension brings it, in a headless browser."""
