"""How answers are asked for in a form, and read: text, JSON of a type, programs, files, workflows."""
