"""Traces of requests, of operations on projects and of calls to the engine, where `OTEL_*` in the environment asks for
them (docs/metrics.md). Else nothing of OpenTelemetry is imported.

Every name and every value of a span is a word of the program or a number: never a path, an address, a text that
somebody has sent, or an error. Instrumentation from elsewhere notes all of these, bots' tokens in Telegram's addresses
among them.
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
    """What the library says quotes the collector's address and the headers, and with them a credential. Of that the log
    has the class of the error, at most once a minute.
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
    """`tracer` is of the process. None: nobody asks for traces."""

    tracer: "Tracer | None" = None


def _describe_nothing(_name: str, **_attributes: Value) -> None:
    return


_UNTRACED: AbstractContextManager[Describe] = nullcontext(_describe_nothing)


def begin_to_trace(process: str, *, version: str) -> None:
    """For each process, after it was forked. Goes on without where what it takes is not installed."""
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
    """Lasts as long as the block, and is the parent of all that begins within. `kind` is its name until it has one."""
    return _UNTRACED if _Tracing.tracer is None else _traced(_Tracing.tracer, kind)


def note_span(name: str, *, since: float, **attributes: Value) -> None:
    """One that ends now. `since` is on the monotonic clock."""
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
    # At its end it would wait for a collector that is away.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    _Tracing.tracer = provider.get_tracer("berth", version)


def _quiet_library() -> None:
    """Before it reads the environment: it also complains of headers that it cannot read."""
    theirs = logging.getLogger("opentelemetry")
    theirs.propagate, theirs.handlers = False, [_Complaints()]


def _name_error(record: logging.LogRecord) -> str:
    told = record.args if isinstance(record.args, tuple) else ()
    errors = [each for each in (*told, *(record.exc_info or ())) if isinstance(each, BaseException)]
    return type(errors[0]).__name__ if errors else "without an error"


def _is_asked_for() -> bool:
    if _word("OTEL_SDK_DISABLED") == "true" or _word("OTEL_TRACES_EXPORTER") == "none":
        return False
    return any(os.environ.get(name) for name in _ASKING)


def _word(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


def _dotted(attributes: dict[str, Value]) -> dict[str, Value]:
    return {name.replace("_", "."): value for name, value in attributes.items()}
