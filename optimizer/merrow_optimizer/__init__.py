"""Better workflows: safe mutations and crossover. The search over them is to come."""
