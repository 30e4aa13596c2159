"""Users and their roles."""

import uuid
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.emails import normalise_email


class Role(models.TextChoices):
    USER = "user", "User"
    STAFF = "staff", "Staff"
    ADMIN = "admin", "Admin"


class UserManager(BaseUserManager["User"]):
    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return normalise_email(email or "")

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=self.normalize_email(username))

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Creates a user. Without a password nobody can sign in until somebody follows a set-password link."""
        if not email:
            raise ValueError("A user needs an email address.")
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, **{**fields, "is_staff": True, "is_superuser": True})


class User(AbstractBaseUser, PermissionsMixin):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(unique=True, max_length=254, error_messages={"unique": "This email is taken."})
    is_active = models.BooleanField("active", default=True, help_text="Clear it to refuse sessions and keys at once.")
    is_staff = models.BooleanField("staff", default=False, help_text="May use the admin.")
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    # Sessions carry the version under which they were opened; raising it ends them all. It is not a time, because two
    # events may fall into one second, and not the password hash, because Django rehashes that at sign-in.
    session_version = models.PositiveIntegerField(default=1, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique_in_any_case")]

    def __str__(self) -> str:
        return self.email

    @property
    def role(self) -> Role:
        if self.is_superuser:
            return Role.ADMIN
        return Role.STAFF if self.is_staff else Role.USER

    @classmethod
    def normalize_username(cls, username: str) -> str:
        """Normalises the field that names a user, here the email. Django's `clean()` calls this."""
        return normalise_email(username)

    def end_sessions(self) -> None:
        """Ends every session of this user, once `session_version` is saved."""
        self.session_version += 1

    def set_password(self, raw_password: str | None) -> None:
        """Does what Django's does, and ends all sessions. Save `password` and `session_version` together."""
        super().set_password(raw_password)
        self.end_sessions()

    def check_password(self, raw_password: str | None) -> bool:
        """Does what Django's does, but ends no session when it rehashes the password with newer parameters."""
        encoded = self.password

        def store_rehash(raw: str) -> None:
            self.password = make_password(raw)
            User.objects.filter(pk=self.pk, password=encoded).update(password=self.password)

        return check_password(raw_password, encoded, store_rehash)

    def _get_session_auth_hash(self, secret: str | bytes | None = None) -> str:
        """Returns what dashboard sessions are tied to. Django uses the password hash, which rehashing changes."""
        return salted_hmac(
            "accounts.User.session_version", f"{self.pk}:{self.session_version}", secret=secret, algorithm="sha256"
        ).hexdigest()
