"""The second process: keeps rows up to date with the engine, repairs agents, sends mails and cleans up."""
