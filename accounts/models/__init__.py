"""Users, their API keys and second factors, and what limits them."""

from accounts.models.api_key import ApiKey, ApiKeyQuerySet, Scope
from accounts.models.second_factor import KnownNetwork, RecoveryCode, SecondFactor
from accounts.models.throttle import LoginCounter, RevokedSession, UsageCounter
from accounts.models.user import Role, User, UserManager

__all__ = [
    "ApiKey",
    "ApiKeyQuerySet",
    "KnownNetwork",
    "LoginCounter",
    "RecoveryCode",
    "RevokedSession",
    "Role",
    "Scope",
    "SecondFactor",
    "UsageCounter",
    "User",
    "UserManager",
]
