"""``typing.NamedTuple``, without the import of ``typing`` and its check of each annotation.

The import is more than a tenth of what ``render`` takes as a whole process: 91 ms with it, 78 ms without
(the least of 15 runs in turn, all components of v2.9.4). The checks are more than half of what a class takes:
300 µs with them, 130 µs without, and a run of the Action makes 170 classes.
Type checkers see the real one; at run time ``collections.namedtuple`` makes the
class, from the annotations, which must be strings (PEP 563).
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _FieldsFromAnnotations(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> type:
            fields = namespace.pop("__annotations__", {})
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            base = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 it is what typing's is made of
            return type(name, (base,), {"__slots__": (), **namespace})

    class NamedTuple(metaclass=_FieldsFromAnnotations):
        """At run time: ``collections.namedtuple``, from the class's annotations and defaults."""


__all__ = ["NamedTuple"]
