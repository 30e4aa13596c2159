"""The account pages of the dashboard."""

from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.generic import RedirectView

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="accounts:settings"), name="home"),
    path("sign-in", views.SignInView.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("set-password/<uidb64>/<token>", views.SetPasswordView.as_view(), name="set-password"),
    path("settings", views.show_settings, name="settings"),
    path("settings/password", views.change_own_password, name="change-password"),
    path("settings/keys", views.make_key, name="make-key"),
    path("settings/keys/<uuid:key_id>/revoke", views.revoke_key, name="revoke-key"),
    path("settings/sign-out-everywhere", views.end_all_sessions, name="sign-out-everywhere"),
]
