"""What memory, extracted operators and each stage of their extraction are worth in a simulated world, beside A2Flow's Table 3."""
