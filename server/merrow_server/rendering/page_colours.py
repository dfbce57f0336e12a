"""The colours of a page: in a browser as its user has them, in an editor those of its theme, whatever the system prefers."""

COLOURS = """\
body { color: CanvasText; background: Canvas; } .vscode-light { color-scheme: light; } .vscode-dark { color-scheme: dark; }
.vscode-high-contrast { color-scheme: dark; } .vscode-high-contrast-light { color-scheme: light; }
"""
"""Of a page whose style begins with ``:root { color-scheme: light dark }``; an editor puts the class on its body."""
