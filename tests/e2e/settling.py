"""Commands of an owner, and the project once it has settled."""

from typing import Any

from tests.canaries import CANARY_PASSWORD
from tests.e2e.service import EMAIL, Answer, Service
from tests.waiting import wait_until

GENEROUS = 120
"""Seconds after which a wait fails, enough for a busy machine."""


def settle(service: Service, token: str, answer: Answer) -> Any:
    """Returns the project once it is neither starting nor stopping. `?wait=30` may be too short on a busy machine."""
    assert answer.status in {200, 201}, answer.text
    seen = [answer.json]

    def is_settled() -> bool:
        if seen[-1]["status"] in {"starting", "stopping", "restarting"}:
            seen.append(service.call("GET", f"/api/projects/{seen[0]['id']}", token=token).json)
            return False
        return True

    wait_until(is_settled, within=GENEROUS, what=lambda: str(seen[-1]), every=0.5)
    return seen[-1]


def carry_out(service: Service, token: str, project: str, action: str) -> Any:
    answer = service.call("POST", f"/api/projects/{project}/control?wait=30", {"action": action}, token)
    return settle(service, token, answer)


def sign_in(service: Service) -> str:
    answer = service.call("POST", "/api/auth/login", {"email": EMAIL, "password": CANARY_PASSWORD})
    assert answer.status == 200, answer.text
    session: str = answer.json["token"]
    return session


def status_of(service: Service) -> str:
    """Reads it as the owner, who must sign in again."""
    return str(service.call("GET", "/api/projects", token=sign_in(service)).json[0]["status"])
