"""What agents do: their statuses, logs, events and use of the machine."""
