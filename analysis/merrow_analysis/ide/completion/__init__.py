"""What is offered while a person writes."""
