"""Who is there in the fuzzed service: the two that must not see each other's things, and the bots they have."""

PASSWORD = "two ships in the night"
PEOPLE = {
    "alice": ("alice@example.org", (100001, 100002, 100003)),
    "bob": ("bob@example.org", (200001, 200002, 200003)),
}
