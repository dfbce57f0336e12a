"""The front doors of Merrow: the command line and the language server."""
