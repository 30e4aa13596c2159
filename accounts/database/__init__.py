"""What both apps ask of the database beyond the ORM: compiled queries, online indexes, durable commits."""
