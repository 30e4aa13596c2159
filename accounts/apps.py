from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True


class AdminConfig(admin_apps.AdminConfig):
    """Django's admin, with our sign-in page."""

    default = False
    default_site = "accounts.admin_site.site.BerthAdminSite"
