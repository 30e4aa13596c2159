from tests.fakes.engine import MemoryEngine


class TalkativeEngine(MemoryEngine):
    """One whose logs are not silent for long: who follows one is soon told that it goes on."""

    def reset(self) -> None:
        super().reset()
        self.silence = 0.5
