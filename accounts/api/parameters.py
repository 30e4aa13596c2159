"""The query parameters and headers of requests. Each is declared once, for the view and for the OpenAPI description.

A query parameter that the view does not declare is refused, like an unknown field of a body, and like any field where
the view declares no body.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ErrorDetail, ParseError, UnsupportedMediaType, ValidationError
from rest_framework.request import Request
from rest_framework.settings import api_settings

from accounts.api.unknown_names import describe_unknown_names
from accounts.errors import CodedBodyError

if TYPE_CHECKING:
    from rest_framework.views import APIView

    _Base = APIView
else:
    _Base = object

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


class ParameterError(ValueError):
    """The value is not valid for the parameter. The message says which values are valid."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameter(Generic[T]):
    """`read` parses the text that was sent, or raises `ParameterError`. `default` is the value if nothing was sent.

    With `repeats`, the parameter may be sent several times, which means the same as once with commas in between.
    """

    name: str
    schema: dict[str, Any]
    read: Callable[[str], T]
    default: T
    description: str = ""
    location: Literal["query", "header"] = OpenApiParameter.QUERY
    repeats: bool = False

    def describe(self) -> OpenApiParameter:
        return OpenApiParameter(self.name, self.schema, self.location, description=self.description)

    def find(self, request: Request) -> T:
        sent = self._sent(request)
        if not sent:
            return self.default
        if len(sent) > 1 and not self.repeats:
            raise ParameterError(f"Send {self.name} once.")
        return self.read(",".join(sent))

    def _sent(self, request: Request) -> list[str]:
        if self.location == OpenApiParameter.QUERY:
            return request.query_params.getlist(self.name)
        value = request.headers.get(self.name)
        return [] if value is None else [value]


class ParameterValues:
    """The values of a request's parameters."""

    def __init__(self, values: dict[Parameter[Any], Any]) -> None:
        self._values = values

    def __getitem__(self, parameter: Parameter[T]) -> T:
        return cast(T, self._values[parameter])


def read_parameters(request: Request, declared: Sequence[Parameter[Any]]) -> ParameterValues:
    """Returns the values. Raises the REST framework's `ValidationError`, which names every wrong parameter."""
    values: dict[Parameter[Any], Any] = {}
    in_query = [each.name for each in declared if each.location == OpenApiParameter.QUERY]
    errors = describe_unknown_names(request.query_params, known=in_query, noun="parameter")
    for parameter in declared:
        try:
            values[parameter] = parameter.find(request)
        except ParameterError as error:
            errors[parameter.name] = [ErrorDetail(str(error), code="invalid")]
    if errors:
        raise ValidationError(errors)
    return ParameterValues(values)


def refuse_body(request: Request) -> None:
    """Raises the REST framework's `ValidationError` if the body has any JSON but an empty object.

    A body in another format has no fields of ours. Some clients send an empty form by themselves.
    """
    try:
        sent = request.data
    except UnsupportedMediaType:
        return
    if not isinstance(sent, Mapping):
        message = ErrorDetail("This request has no body. Send none, or an empty JSON object.", code="invalid")
        raise ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [message]})
    if errors := describe_unknown_names(sent, known=(), noun="field"):
        raise ValidationError(errors)


def takes(*parameters: Parameter[Any], has_body: bool = False) -> Callable[[Method], Method]:
    """Declares the parameters of a method of a `StrictView`, and whether it may have a body."""

    def declare(method: Method) -> Method:
        method.parameters = parameters  # type: ignore[attr-defined]  # `StrictView` reads both
        method.has_body = has_body  # type: ignore[attr-defined]  # see above
        return method

    return declare


def describe(
    *, parameters: Sequence[Parameter[Any] | OpenApiParameter] = (), ignores_body: bool = False, **schema: Any
) -> Callable[[Method], Method]:
    """Combines `extend_schema` and `takes`, so that the description lists the parameters and the body that the view
    takes."""
    ours = [each for each in parameters if isinstance(each, Parameter)]
    described = [each.describe() if isinstance(each, Parameter) else each for each in parameters]

    def declare(method: Method) -> Method:
        described_method = extend_schema(parameters=described, **schema)(method)
        return takes(*ours, has_body=ignores_body or schema.get("request") is not None)(described_method)

    return declare


class StrictView(_Base):
    """Reads the parameters before the method begins, and refuses fields of a POST that it would not read.

    All views of /api inherit from it.
    """

    values: ParameterValues

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.check_request(request)
        method = getattr(self, (request.method or "").lower(), None)
        declared = getattr(method, "parameters", None)  # None for OPTIONS and for a method that is not allowed
        if declared is None:
            return
        try:
            self.values = read_parameters(request, declared)
            # With other methods a body without a declaration has no meaning (RFC 9110, section 9.3).
            if request.method == "POST" and not getattr(method, "has_body", False):
                refuse_body(request)
        except (ValidationError, ParseError, CodedBodyError):
            self.check_object_exists()
            raise

    def check_request(self, request: Request) -> None:
        """Runs once the request is authenticated and permitted, before its parameters are read."""

    def check_object_exists(self) -> None:
        """Raises Http404 if the caller has no such object. It takes precedence over errors in parameters."""
