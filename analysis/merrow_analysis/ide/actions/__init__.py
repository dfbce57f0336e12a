"""What a person may do at a place: the menu of code actions."""
