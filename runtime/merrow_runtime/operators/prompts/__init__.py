"""How instructions, inputs and memory become messages."""
