from tests.fakes.engine import MemoryEngine


class TalkativeEngine(MemoryEngine):
    """An engine whose logs are never silent for long, so that followers soon get a sign of life."""

    def reset(self) -> None:
        super().reset()
        self.silence = 0.5
