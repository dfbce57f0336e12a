"""A crafting game in text: a book of recipes, tasks drawn from it by a seed, and the game itself, all of it pure."""
