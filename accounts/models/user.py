"""Users and their roles."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Greatest, Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.emails import LONGEST_EMAIL, clean_email, normalise_email
from accounts.text import check_hides_nothing


class Role(models.TextChoices):
    USER = "user", "User"
    STAFF = "staff", "Staff"
    ADMIN = "admin", "Admin"


TAKEN = "This email is taken."
_RIGHTS = ("is_active", "is_staff", "is_superuser")
_ENDS_SESSIONS = frozenset({*_RIGHTS, "password", "session_version"})


def _version_after(values: Mapping[str, Any], *, otherwise: Any) -> Case:
    """Returns an expression for the next version if the row differs from `values` (at least one), else `otherwise`."""
    differs = Q()
    for name, value in values.items():
        differs |= ~Q(**{name: value})
    raised = When(differs, then=F("session_version") + 1)
    return Case(raised, default=otherwise, output_field=models.PositiveIntegerField())


class UserQuerySet(models.QuerySet["User"]):
    def update(self, **values: Any) -> int:
        """Does what Django's does, and ends the sessions of users whose rights it changes. See `User.save`."""
        rights = {name: value for name, value in values.items() if name in _RIGHTS}
        if rights:
            otherwise = values.get("session_version", F("session_version"))
            values["session_version"] = _version_after(rights, otherwise=otherwise)
        return super().update(**values)


class UserManager(BaseUserManager["User"]):
    def get_queryset(self) -> UserQuerySet:
        return UserQuerySet(self.model, using=self._db)

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return normalise_email(email or "")

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=self.normalize_email(username))

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Creates a user. Without a password nobody can sign in until someone follows a set-password link."""
        if not email:
            raise ValueError("A user needs an email address.")
        address = self.normalize_email(email)
        if len(address) > LONGEST_EMAIL:
            raise ValueError("The email address is too long.")
        user = self.model(email=address, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, **{**fields, "is_staff": True, "is_superuser": True})


class User(AbstractBaseUser, PermissionsMixin):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(unique=True, max_length=LONGEST_EMAIL, error_messages={"unique": TAKEN})
    name = models.CharField(max_length=64, blank=True, default="", db_default="", validators=[check_hides_nothing])
    is_active = models.BooleanField(
        "active", default=True, help_text="Untick to refuse the user's sessions and keys at once."
    )
    is_staff = models.BooleanField("staff", default=False, help_text="May use the admin.")
    notes = models.CharField(
        max_length=300,
        blank=True,
        default="",
        db_default="",
        validators=[check_hides_nothing],
        help_text="For the staff; the user does not see them.",
    )
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    # When the user deleted the account. The row is deleted as soon as the last of its projects is.
    closed_at = models.DateTimeField(null=True, editable=False)
    # Sessions and set-password links contain the version at the time they were created; raising it ends them all. It is
    # not a time, because two events may happen in one second, and not the password hash, because Django rehashes that
    # at sign-in.
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
        """Normalises the field that identifies a user, here the email. Django's `clean()` calls this."""
        return normalise_email(username)

    def save(self, *, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Does what Django's does, and ends all sessions and set-password links if it changes rights or the password.

        This is done here and in `update`, because a form, a command and a shell have nothing else in common. The
        database compares and counts, so that an object that was read earlier neither misses a change nor sets the
        version back.
        """
        fields = None if update_fields is None else set(update_fields)
        if self._state.adding or options.get("force_insert") or (fields is not None and not fields & _ENDS_SESSIONS):
            super().save(update_fields=fields, **options)
            return
        version = self.session_version
        written = {name: getattr(self, name) for name in (*_RIGHTS, "password") if fields is None or name in fields}
        counted: Any = F("session_version")
        if written:
            counted = _version_after(written, otherwise=counted)
        self.session_version = Greatest(counted, Value(version), output_field=models.PositiveIntegerField())
        try:
            super().save(update_fields=None if fields is None else {*fields, "session_version"}, **options)
        except BaseException:
            self.session_version = version
            raise
        self.refresh_from_db(using=options.get("using"), fields=["session_version"])

    def clean(self) -> None:
        """Does what Django's does, and refuses a new email that is too long or, once normalised, not an address."""
        super().clean()
        if User.objects.filter(pk=self.pk, email=self.email).exists():
            return  # staff may change users whose email passed older rules
        try:
            self.email = clean_email(self.email)
        except ValidationError as error:
            raise ValidationError({"email": error}) from None

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        """Does what Django's does, and says it of the email, which the only constraint is about."""
        try:
            super().validate_constraints(exclude)
        except ValidationError:
            raise ValidationError({"email": TAKEN}) from None

    def end_sessions(self) -> None:
        """Ends every session of this user once `session_version` is saved."""
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
        """Returns the value to which dashboard sessions are tied. Django uses the password hash, which rehashing
        changes.

        The role is included because of changes made by hand in the database, past this class.
        """
        tied_to = f"{self.pk}:{self.session_version}:{self.role}"
        return salted_hmac("accounts.User.session_version", tied_to, secret=secret, algorithm="sha256").hexdigest()
