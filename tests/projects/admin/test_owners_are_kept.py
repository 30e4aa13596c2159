"""The admin's pages that delete users, for one who owns projects."""

import html

from accounts.models import User
from projects.models import Project
from tests.clients import browser_of
from tests.factories import UserFactory

USERS = "/admin/accounts/user/"


def test_an_owner_is_kept_with_advice(ada: User, alice: User, project: Project) -> None:
    admin = browser_of(ada)
    several = {"action": "delete_selected", "_selected_action": [str(alice.pk)]}
    for page in (admin.get(f"{USERS}{alice.pk}/delete/"), admin.post(USERS, several)):
        text = html.unescape(page.content.decode())
        assert "Untick “active”" in text
        assert "permission" not in text
        assert 'name="post"' not in text
    for answer in (
        admin.post(f"{USERS}{alice.pk}/delete/", {"post": "yes"}),
        admin.post(USERS, {**several, "post": "yes"}),
    ):
        assert answer.status_code in {200, 403}
    assert User.objects.filter(pk=alice.pk).exists()


def test_a_user_without_projects_is_deleted_after_a_question(ada: User) -> None:
    admin, bob = browser_of(ada), UserFactory.create()
    several = {"action": "delete_selected", "_selected_action": [str(bob.pk)]}
    for page in (admin.get(f"{USERS}{bob.pk}/delete/"), admin.post(USERS, several)):
        assert 'name="post" value="yes"' in page.content.decode()
    assert admin.post(f"{USERS}{bob.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=bob.pk).exists()
