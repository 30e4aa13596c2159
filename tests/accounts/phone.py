"""An authenticator app on a phone whose clock tests can set."""

import base64
import time
from dataclasses import dataclass, field

from django_otp.oath import TOTP  # type: ignore[import-untyped]  # has no stubs

from accounts.credentials.one_time_codes import make_secret
from accounts.models import User
from accounts.services.second_factor import enrol_second_factor


@dataclass
class Phone:
    """`now` is also the service's clock, so that no period ends between showing a code and checking it."""

    now: float = field(default_factory=time.time)
    secret: str = ""
    recovery_codes: list[str] = field(default_factory=list)

    def scan(self, secret: str) -> None:
        self.secret = secret.replace(" ", "")

    def code(self, *, periods: int = 0) -> str:
        """Returns the code that it shows now, or in some periods."""
        clock = TOTP(base64.b32decode(self.secret))
        clock.time = self.now + 30 * periods
        return f"{clock.token():06d}"

    def next_code(self) -> str:
        """Waits for a code that has not been used."""
        self.now += 30
        return self.code()

    def wrong_code(self) -> str:
        near = {self.code(periods=periods) for periods in range(-2, 3)}
        return next(code for code in map("{:06d}".format, range(6)) if code not in near)

    def enrol(self, user: User) -> None:
        """Sets up the second factor of the user with this phone."""
        self.scan(make_secret())
        self.recovery_codes = enrol_second_factor(user=user, session=None, secret=self.secret, code=self.code())
