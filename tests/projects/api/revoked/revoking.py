"""Every way in which a token or a project ends."""

from collections.abc import Callable

from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import ApiKey, RevokedSession, User
from accounts.services.sign_in import set_password, sign_out_everywhere
from projects.models import Project

Revoke = Callable[[User, Project], object]


SESSION, KEY = "session", "key"


def sign_out(user: User, _project: Project) -> None:
    answer = APIClient().post("/api/auth/logout", headers={"Authorization": f"Bearer {user.token}"})  # type: ignore[attr-defined]  # `client_of` left it there
    assert answer.status_code == 204
    assert RevokedSession.objects.exists()


def deactivate(user: User, _project: Project) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


TOKEN_ENDS: dict[str, tuple[tuple[str, ...], Revoke]] = {
    "signed out": ((SESSION,), sign_out),
    "sessions ended": ((SESSION,), lambda user, _: sign_out_everywhere(user=user)),
    "password changed": ((SESSION,), lambda user, _: set_password(user=user, password="a passphrase, entirely new")),
    "key revoked": ((KEY,), lambda *_: ApiKey.objects.update(revoked_at=timezone.now())),
    "key expired": ((KEY,), lambda *_: ApiKey.objects.update(expires_at=timezone.now())),
    "key deleted": ((KEY,), lambda *_: ApiKey.objects.all().delete()),
    "deactivated": ((SESSION, KEY), deactivate),
    "made staff": ((SESSION, KEY), lambda user, _: User.objects.filter(pk=user.pk).update(is_staff=True)),
    "made admin": ((SESSION, KEY), lambda user, _: User.objects.filter(pk=user.pk).update(is_superuser=True)),
}


PROJECT_ENDS: dict[str, Revoke] = {
    "deleted": lambda _, project: Project.objects.filter(pk=project.pk).update(desired="deleted"),
    "gone": lambda _, project: Project.objects.filter(pk=project.pk).delete(),
    "suspended": lambda _, project: Project.objects.filter(pk=project.pk).update(suspended_at=timezone.now()),
    "of a deactivated owner": deactivate,
}


CASES = [(kind, name) for name, (kinds, _) in TOKEN_ENDS.items() for kind in kinds]
