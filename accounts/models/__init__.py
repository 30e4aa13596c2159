"""Users, their API keys and second factors, what limits them, and the mails that wait."""

from accounts.models.api_key import ApiKey, ApiKeyQuerySet, Scope
from accounts.models.outgoing_mail import MailState, OutgoingMail
from accounts.models.second_factor import KnownNetwork, RecoveryCode, SecondFactor
from accounts.models.throttle import LoginCounter, RevokedSession, UsageCounter
from accounts.models.user import Role, User, UserManager

__all__ = [
    "ApiKey",
    "ApiKeyQuerySet",
    "KnownNetwork",
    "LoginCounter",
    "MailState",
    "OutgoingMail",
    "RecoveryCode",
    "RevokedSession",
    "Role",
    "Scope",
    "SecondFactor",
    "UsageCounter",
    "User",
    "UserManager",
]
