"""The flowchart a text draws, and the typed workflow Merrow reads in it."""
