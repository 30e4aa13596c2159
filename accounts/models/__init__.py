"""Users, their sessions, API keys and second factors, what limits them, and the mails that wait."""

from accounts.models.api_key import ApiKey, ApiKeyQuerySet, Scope
from accounts.models.notice import Notice
from accounts.models.open_session import OpenSession, SessionKind
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
    "Notice",
    "OpenSession",
    "OutgoingMail",
    "RecoveryCode",
    "RevokedSession",
    "Role",
    "Scope",
    "SecondFactor",
    "SessionKind",
    "UsageCounter",
    "User",
    "UserManager",
]
