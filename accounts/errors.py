"""The errors of accounts, each with a sentence for the user. They know nothing of HTTP."""

from uuid import UUID


class AccountError(Exception):
    """Base of all errors of this app; `str(error)` is the sentence for the user."""


class InvalidCredentialsError(AccountError):
    """Unknown email, wrong password or inactive user: deliberately one error."""

    def __init__(self) -> None:
        super().__init__("The email or the password is wrong. Check both and try again.")


class TooManyAttemptsError(AccountError):
    """Too many failed attempts for this account, or from this client. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        minutes = max(1, -(-retry_after // 60))
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(f"Too many failed attempts. Wait {minutes} {unit}, then try again.")


class SecondFactorRequiredError(AccountError):
    """The password is right, but the code of the second factor is missing or wrong."""

    def __init__(self) -> None:
        super().__init__(
            "This account has a second factor. Send its app's current code, or a recovery code, as `code`."
        )


class WrongCodeError(AccountError):
    """The code is wrong, too old, or was already used: deliberately one error."""

    def __init__(self) -> None:
        super().__init__("This code is wrong, too old or already used. Wait for the next code and enter it.")


class SecondFactorExistsError(AccountError):
    def __init__(self) -> None:
        super().__init__("You have a second factor already. Turn it off before you set up another one.")


class SecondFactorUnreadableError(AccountError):
    """The stored secret cannot be decrypted, or is malformed. `operator_detail` says what an operator can do."""

    def __init__(self, user_id: UUID) -> None:
        self.operator_detail = (
            f"The second factor of user {user_id} cannot be decrypted. Put the key it was written with into "
            "BERTH_ENCRYPTION_KEYS, or reset the second factor in the admin."
        )
        super().__init__(
            "Your second factor cannot be read. Use a recovery code, or ask the staff to reset your second factor."
        )


class InvalidTokenError(AccountError):
    """The token is not one of ours, or no longer valid. The error never says which check failed."""

    def __init__(self) -> None:
        super().__init__("The token is not valid, has expired or was revoked. Sign in again, or use another API key.")


class LinkNotValidError(AccountError):
    """The set-password link was used, is too old, or the user has changed since: deliberately one error."""

    def __init__(self) -> None:
        super().__init__("This link is no longer valid. Ask the staff of this installation for a new one.")


class EmailLinkNotValidError(AccountError):
    """The link for a new email was used, is too old, is another user's, or the user has changed: deliberately one
    error.
    """

    def __init__(self) -> None:
        super().__init__(
            "This link is no longer valid, or it belongs to another account than the one you are signed in to. "
            "Ask for a new link in the settings."
        )


class EmailTakenError(AccountError):
    """Another account uses the new email. Only the owner of the mailbox sees this error."""

    def __init__(self) -> None:
        super().__init__("Another account already uses this email. Choose another one.")


class TooManyLinksError(AccountError):
    """The user has asked for too many links within an hour. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__("You have asked for too many links within an hour. Try again in the next hour.")


class InactiveUserError(AccountError):
    def __init__(self) -> None:
        super().__init__("This user is not active, so no link would work. Make the user active first.")


class KeyLimitReachedError(AccountError):
    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"You have {limit} live API keys, which is the limit. Revoke one first.")


class KeyExistsError(AccountError):
    """The same form of the dashboard was sent twice."""

    def __init__(self) -> None:
        super().__init__("This key already exists and was shown only once. Make another one if you need it.")


class UnknownKeyError(AccountError):
    """The key does not exist, belongs to another user, or is already revoked: deliberately one error."""

    def __init__(self) -> None:
        super().__init__("There is no such API key. List your keys to see which there are.")


class UnknownSessionError(AccountError):
    """The session does not exist, belongs to another user, or has ended: deliberately one error."""

    def __init__(self) -> None:
        super().__init__("There is no such session. It may have ended by itself.")


class OutboxFullError(AccountError):
    """No mail can be queued. `retry_after` is in seconds."""

    retry_after = 60

    def __init__(self) -> None:
        super().__init__("Too many mails are waiting for the mail server. Try again later, or tell the staff.")


class MaintenanceError(AccountError):
    """The staff are doing maintenance, so nothing may be changed. `retry_after` is in seconds."""

    retry_after = 300

    def __init__(self, notice: str = "") -> None:
        super().__init__(
            f"The staff are doing maintenance, and nothing can be changed until they are done. {notice}".strip()
        )


class CodedBodyError(AccountError):
    """The client says that it has compressed the body. Nothing is unpacked here."""

    def __init__(self) -> None:
        super().__init__("Send the body uncompressed and without Content-Encoding.")
