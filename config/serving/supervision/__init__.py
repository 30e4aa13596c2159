"""The process that starts the web server and the watcher, restarts them, and hands over to a new program."""
