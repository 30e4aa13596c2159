"""Actions of staff on many projects, and their view of the installation."""
