"""What the staff do to many projects, and what they see of the installation."""
