"""The Merrow language: text to syntax to typed graph to diagnostics, fixes, metrics and formatting. No files, no network."""
