"""The second process: keeps all rows up to date with the engine, repairs, mails and cleans up."""
