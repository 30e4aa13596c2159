"""The gateway's process: its start and end, and the server that receives agents' requests."""
