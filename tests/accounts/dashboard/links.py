"""Set-password links as staff create them."""

import re
from urllib.parse import urlsplit

from django.test import Client

from accounts.models import User

NEW = {"new_password1": "a passphrase, entirely new", "new_password2": "a passphrase, entirely new"}


def link_of(staff: User, user: User) -> str:
    client = Client()
    client.force_login(staff)
    page = client.post(f"/admin/accounts/user/{user.pk}/set-password-link/").content.decode()
    found = re.search(r'id="set-password-link">([^<]+)<', page)
    assert found is not None
    return urlsplit(found[1]).path
