"""What hover and other popups say."""
