"""What every process of Berth needs: time limits for its waits, side threads, counters and traces."""
