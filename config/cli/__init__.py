"""The command line that people download from their installation, and the code that packs it into one file."""
