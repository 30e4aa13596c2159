"""Opens the agent's database on its volume, and updates the schema of an older one."""

import sqlite3
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY,
    chat_id INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS spent_on_memory (
    chat_id INTEGER NOT NULL,
    day TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (chat_id, day)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS summary (
    chat_id INTEGER NOT NULL,
    topic INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (chat_id, topic)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reminder (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id INTEGER NOT NULL,
    topic INTEGER NOT NULL,
    due INTEGER NOT NULL,
    text TEXT NOT NULL,
    language TEXT
);
CREATE TABLE IF NOT EXISTS unanswered (id INTEGER PRIMARY KEY, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS paired (user_id INTEGER PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS used_code (code TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS had_secret (id INTEGER PRIMARY KEY CHECK (id = 1));
CREATE TABLE IF NOT EXISTS void_below (number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS turned_away (what TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (
    chat_id INTEGER NOT NULL,
    day TEXT NOT NULL,
    answers INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    PRIMARY KEY (chat_id, day)
) WITHOUT ROWID;
"""
COLUMNS = {  # added to older databases
    ("message", "topic"): "INTEGER NOT NULL DEFAULT 0",
    ("message", "asked_by"): "INTEGER",
    ("reminder", "repeat"): "TEXT",
}
INDEX = "CREATE INDEX IF NOT EXISTS message_place ON message (chat_id, topic, id)"


def open_store(directory: Path) -> sqlite3.Connection:
    """Opens the database in autocommit mode: transactions are begun explicitly. Raises sqlite3.Error."""
    db = sqlite3.connect(directory / "history.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.executescript(SCHEMA)
    for (table, name), kind in COLUMNS.items():
        if name not in {column[1] for column in db.execute(f"PRAGMA table_info({table})")}:
            db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
    db.execute("DROP INDEX IF EXISTS message_chat")
    db.execute(INDEX)
    return db
