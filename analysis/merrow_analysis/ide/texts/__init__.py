"""The texts of hover and other popups."""
