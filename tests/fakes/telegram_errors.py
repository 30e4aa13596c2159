"""The errors of the Bot API, in Telegram's words."""

from tests.fakes.messages import Answer

CONFLICT_POLL = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
CONFLICT_HOOK = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)


class ApiError(Exception):
    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        document: dict[str, object] = {"ok": False, "error_code": status, "description": description}
        if parameters:
            document["parameters"] = parameters
        headers = {"Retry_After": str(parameters["retry_after"])} if "retry_after" in parameters else {}
        self.answer = Answer.json(status, document, **headers)


CONFLICT = ApiError(409, CONFLICT_POLL).answer
