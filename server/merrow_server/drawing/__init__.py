"""Images of flowcharts: the extension's Mermaid in a headless browser."""
