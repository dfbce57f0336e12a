"""How answers are requested in a certain form and read: text, JSON of a type, programs, files, workflows."""
