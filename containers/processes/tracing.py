"""Traces of requests, of operations on projects and of calls to the engine.

OpenTelemetry is imported only if `OTEL_*` in the environment asks for traces (docs/metrics.md). Every name and every
value of a span is a word of the program or a number: never a path, an address, a text from a request, or an error.
Ready-made instrumentation would record all of these, including bots' tokens in Telegram's URLs.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Tracer

log = logging.getLogger("berth.tracing")

Value = str | int | bool
Describe = Callable[..., None]
"""Gives the span its name, and its attributes by keyword: `_` in them becomes `.`."""

_ASKING = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
_EXPORTERS = frozenset({"", "otlp"})
_PROTOCOLS = frozenset({"", "http/protobuf"})


_COMPLAINS_EVERY = 60.0


class _Complaints(logging.Handler):
    """Logs only the class of the library's errors, at most once a minute.

    The library's own messages quote the collector's address and the headers, which may contain a credential.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last = float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now - self._last < _COMPLAINS_EVERY:
            return
        self._last = now
        log.warning("Traces may be missing: the library that sends them complains (%s).", _name_error(record))


class _Tracing:
    """Holds the tracer of the process, or None if the environment asks for no traces."""

    tracer: "Tracer | None" = None


def _describe_nothing(_name: str, **_attributes: Value) -> None:
    return


_UNTRACED: AbstractContextManager[Describe] = nullcontext(_describe_nothing)


def begin_to_trace(process: str, *, version: str) -> None:
    """Starts tracing. Each process calls it after its fork. If the packages are not installed, it only logs that."""
    if not _is_asked_for():
        return
    exporter, protocol = _word("OTEL_TRACES_EXPORTER"), _word("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
    protocol = protocol or _word("OTEL_EXPORTER_OTLP_PROTOCOL")
    if exporter not in _EXPORTERS or protocol not in _PROTOCOLS:
        log.error("Traces are sent by OTLP over http/protobuf alone, so that this process sends none.")
        return
    _quiet_library()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - only where asked for
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - the same

        _trace_to(BatchSpanProcessor(OTLPSpanExporter()), process, version=version)
    except ImportError:
        log.error("OTEL_* asks for traces, and the dependency group `tracing` is not installed: none are sent.")  # noqa: TRY400 - says it all
    except Exception as error:  # noqa: BLE001 - the library's own readers of the environment; traces are no reason to end
        log.error("Traces are not sent: OTEL_* holds something that cannot be used (%s).", type(error).__name__)  # noqa: TRY400 - the text may hold a header


def span(kind: str) -> AbstractContextManager[Describe]:
    """Returns a span for a block, the parent of all spans inside. `kind` is its name until the block gives it one."""
    return _UNTRACED if _Tracing.tracer is None else _traced(_Tracing.tracer, kind)


def note_span(name: str, *, since: float, **attributes: Value) -> None:
    """Records a span that ends now. `since` is its start on the monotonic clock."""
    if _Tracing.tracer is None:
        return
    now, seconds = time.time_ns(), time.monotonic() - since
    ended = _Tracing.tracer.start_span(name, start_time=now - int(seconds * 1e9), attributes=_dotted(attributes))
    ended.end(now)


@contextmanager
def _traced(tracer: "Tracer", kind: str) -> Iterator[Describe]:
    # An exception's text may hold anything.
    with tracer.start_as_current_span(kind, record_exception=False, set_status_on_exception=False) as current:

        def describe(name: str, **attributes: Value) -> None:
            current.update_name(name)
            current.set_attributes(_dotted(attributes))

        yield describe


def _trace_to(processor: "SpanProcessor", process: str, *, version: str) -> None:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - only where asked for
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same

    if "service.name=" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        os.environ.setdefault("OTEL_SERVICE_NAME", "berth")
    resource = Resource.create({"service.version": version, "berth.process": process})
    # At the end of the process it would wait for a collector that does not answer.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    _Tracing.tracer = provider.get_tracer("berth", version)


def _quiet_library() -> None:
    """Redirects the library's log. Must run before it reads the environment, because it logs unreadable headers."""
    theirs = logging.getLogger("opentelemetry")
    theirs.propagate, theirs.handlers = False, [_Complaints()]


def _name_error(record: logging.LogRecord) -> str:
    arguments = record.args if isinstance(record.args, tuple) else ()
    errors = [each for each in (*arguments, *(record.exc_info or ())) if isinstance(each, BaseException)]
    return type(errors[0]).__name__ if errors else "without an error"


def _is_asked_for() -> bool:
    if _word("OTEL_SDK_DISABLED") == "true" or _word("OTEL_TRACES_EXPORTER") == "none":
        return False
    return any(os.environ.get(name) for name in _ASKING)


def _word(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


def _dotted(attributes: dict[str, Value]) -> dict[str, Value]:
    return {name.replace("_", "."): value for name, value in attributes.items()}
