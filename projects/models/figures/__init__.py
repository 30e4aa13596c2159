"""Tables of counts and measurements over time: runs, samples, usage and tallies."""
