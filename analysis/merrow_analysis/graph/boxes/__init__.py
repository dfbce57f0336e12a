"""Loops and Maps as subgraphs: their members and borders, the words on their edges, the expressions that end them."""
