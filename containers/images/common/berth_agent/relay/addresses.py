"""The addresses and credentials that the child gets instead of the real ones."""

from dataclasses import dataclass

from berth_agent.providers import Provider
from berth_agent.relay.config import CHILD_KEY, Config


@dataclass(frozen=True)
class Addresses:
    relay: str
    provider_path: str
    config: Config

    @property
    def bot_base(self) -> str:
        """The base URL in the form that libraries expect: the token follows directly."""
        return f"{self.relay}/telegram/bot"

    @property
    def file_base(self) -> str:
        return f"{self.relay}/telegram/file/bot"

    @property
    def token(self) -> str:
        return self.config.child_token

    @property
    def key(self) -> str:
        return CHILD_KEY

    @property
    def speaks_anthropic(self) -> bool:
        return self.config.provider is Provider.ANTHROPIC

    @property
    def provider_root(self) -> str:
        """The base URL for libraries that append the version themselves, such as Anthropic's."""
        return f"{self.relay}{self.provider_path}"

    @property
    def provider(self) -> str:
        return f"{self.provider_root}/v1"
