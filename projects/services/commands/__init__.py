"""The commands on one project and their steps: each claims the project, acts, and records the outcome."""
