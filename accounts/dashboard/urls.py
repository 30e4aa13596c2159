"""The account pages of the dashboard."""

from django.urls import path

from accounts.dashboard.decorators import counts_as
from accounts.dashboard.views import email, keys, profile, second_factor, sign_in
from accounts.dashboard.views.set_password import set_password_page
from accounts.dashboard.views.sign_up import sign_up
from accounts.dashboard.views.token_for_docs import token_for_docs

app_name = "accounts"
urlpatterns = [
    path("sign-in", sign_in.SignInView.as_view(), name="sign-in"),
    path("sign-in/code", sign_in.SignInCodeView.as_view(), name="sign-in-code"),
    path("sign-up", sign_up, name="sign-up"),
    path("sign-out", counts_as("signing out")(sign_in.sign_out_here), name="sign-out"),
    path("set-password/<uidb64>/<token>", set_password_page, name="set-password"),
    path("settings", sign_in.show_settings, name="settings"),
    path("settings/password", sign_in.change_own_password, name="change-password"),
    path("settings/profile", profile.change_profile, name="profile"),
    path("settings/email", email.change_email, name="change-email"),
    path("settings/email/confirm", email.confirm_new_email, name="confirm-email"),
    path(
        "settings/sessions/<uuid:session_id>/end",
        counts_as("signing out")(profile.end_one_session),
        name="end-session",
    ),
    path("settings/keys", keys.make_key, name="make-key"),
    path("settings/keys/<uuid:key_id>/revoke", keys.revoke_key, name="revoke-key"),
    path("settings/keys/<uuid:key_id>/rotate", keys.rotate_key, name="rotate-key"),
    path("settings/token-for-docs", token_for_docs, name="token-for-docs"),
    path("settings/second-factor", second_factor.begin_second_factor, name="second-factor"),
    path("settings/second-factor/confirm", second_factor.confirm_second_factor, name="second-factor-confirm"),
    path(
        "settings/second-factor/picture.svg",
        second_factor.show_second_factor_picture,
        name="second-factor-picture",
    ),
    path("settings/second-factor/codes", second_factor.make_recovery_codes, name="recovery-codes"),
    path("settings/second-factor/off", second_factor.turn_off_second_factor, name="second-factor-off"),
    path(
        "settings/sign-out-everywhere", counts_as("signing out")(sign_in.end_all_sessions), name="sign-out-everywhere"
    ),
]
