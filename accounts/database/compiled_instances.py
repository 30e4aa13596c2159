"""Model instances, together with related ones, from a query that the ORM writes once.

For a model with many columns, the ORM takes longer to write the query and create the instances than the database takes
to answer.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db.models import ForeignKey, GenericIPAddressField, Model, QuerySet

from accounts.database.compiled_query import CompiledQuery, Value, make_instance

M = TypeVar("M", bound=Model)


class Part:
    """The columns of one model. `relation` leads to it from the query's model, and is empty for that model itself."""

    def __init__(self, model: type[Model], relation: str = "") -> None:
        fields = model._meta.concrete_fields
        self.model, self.relation = model, relation
        self.names = tuple(field.attname for field in fields)
        self.columns = tuple(f"{relation}__{name}" if relation else name for name in self.names)
        self._key = next(at for at, field in enumerate(fields) if field.primary_key)
        self._addresses = [at for at, field in enumerate(fields) if isinstance(field, GenericIPAddressField)]

    def make(self, values: list[Any]) -> Any:
        """Returns None if there is no row, for example if a nullable relation is empty."""
        if values[self._key] is None:
            return None
        for at in self._addresses:  # PostgreSQL's binary format has no text for them
            values[at] = None if values[at] is None else str(values[at])
        return make_instance(self.model, self.names, values)

    def refresh(self, instance: Model, values: list[Any]) -> None:
        """Writes the values to the instance, which keeps the related objects that it still refers to."""
        fresh = vars(self.make(values))
        del fresh["_state"]
        vars(instance).update(fresh)
        for field in self.model._meta.concrete_fields:
            if isinstance(field, ForeignKey) and field.is_cached(instance):
                kept = field.get_cached_value(instance)
                if kept is not None and getattr(kept, field.target_field.attname) != fresh[field.attname]:
                    field.delete_cached_value(instance)


class CompiledInstances(Generic[M]):
    """`write` and `samples` are as for a `CompiledQuery`, except that `write` returns a plain queryset.

    `beside` names to-one relations, which are read as `select_related` reads them; `also` names the queryset's
    annotations.
    """

    def __init__(
        self,
        write: Callable[..., QuerySet[M]],
        *samples: Value,
        beside: Sequence[str] = (),
        also: Sequence[str] = (),
    ) -> None:
        self._write, self._samples, self._beside, self._also = write, samples, beside, also

    @cached_property
    def _parts(self) -> list[Part]:
        """Created at first use, because not all models are loaded before."""
        model = self._write(*self._samples).model
        relations = ((name, model._meta.get_field(name).related_model) for name in self._beside)
        return [Part(model), *(Part(other, name) for name, other in relations if isinstance(other, type))]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row, for `make`."""
        return (*(column for part in self._parts for column in part.columns), *self._also)

    @cached_property
    def _query(self) -> CompiledQuery:
        return CompiledQuery(lambda *values: self._write(*values).values_list(*self.columns), *self._samples)

    def read(self, *values: Value) -> Iterator[M]:
        for row in self._query.rows(*values):
            yield self.make(row)

    def refresh(self, instance: M, *values: Value) -> bool:
        """Refreshes the instance from its row. Returns False if the row no longer exists."""
        found = next(self.read(*values), None)
        if found is None:
            return False
        vars(instance).update(vars(found))
        return True

    def make(self, row: Sequence[Any]) -> M:
        """Returns the instance of a row with these `columns`, which may come from another compiled query."""
        rest = iter(row)
        first, *others = ((part, part.make([next(rest) for _ in part.names])) for part in self._parts)
        instance: M = first[1]
        for part, other in others:
            field: Any = instance._meta.get_field(part.relation)
            field.set_cached_value(instance, other)
        vars(instance).update(zip(self._also, rest, strict=True))
        return instance
