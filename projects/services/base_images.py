"""On what the images of agent types are built, for the staff."""

from containers.errors import EngineError
from containers.get_engine import get_engine


def describe_base(*, image: str) -> str:
    """Asks the engine, which alone knows what lies there under the image's name. Raises nothing."""
    engine = get_engine()
    try:
        with engine.read_deadline():
            return engine.image_base(image) or "Not recorded: `manage.py build_images` has not built this image."
    except EngineError as error:
        return f"Unknown: {error}"
