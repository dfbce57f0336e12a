"""Better workflows: planning, safe mutations, crossover, repair, evaluation, suggestions and search."""
