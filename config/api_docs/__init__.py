"""What is told of the API: its description, and the page that shows it."""
