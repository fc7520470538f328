"""The type of a record: a group of values that a document repeats, for example the line items of a receipt."""

from dataclasses import dataclass

from layoutray.errors import InputError


@dataclass(frozen=True, slots=True)
class RecordType:
    """The type of one kind of record.

    Attributes:
        fields: types of the entities that a record may have. The first is the one that each record has once, for
            example the name of an item.
    """

    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.fields or not all(name.strip() for name in self.fields):
            raise InputError(f"fields is {list(self.fields)}; it must name at least one field, and no name is empty")
        if repeated := sorted({name for name in self.fields if self.fields.count(name) > 1}):
            raise InputError(f"fields has {', '.join(repeated)} twice; name each field once")
