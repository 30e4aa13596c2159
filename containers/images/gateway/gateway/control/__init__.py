"""The protocol of the control side, on a Unix socket."""
