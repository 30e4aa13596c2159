"""What is counted and measured over time: runs, samples, usage and how often something has happened."""
