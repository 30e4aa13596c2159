"""Users, API keys, the notice and the outbox in the admin."""

from accounts.admin.users import UserAdmin

__all__ = ["UserAdmin"]
