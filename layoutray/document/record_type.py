"""The type of a record: a group of values that a document repeats, for example the line items of a receipt."""

from dataclasses import dataclass, field

from layoutray.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType:
    """The type of one kind of record.

    Attributes:
        fields: types of the entities that a record may have. The first is the one that each record has once, for
            example the name of an item.
        amount, count, unit_price, discount: which of `fields` state the amount of a record, and what it is made of.
            With an amount, the records are checked to add up (see `layoutray.document.record_sums`); empty for none.
    """

    fields: tuple[str, ...] = field(kw_only=False)
    amount: str = ""
    count: str = ""
    unit_price: str = ""
    discount: str = ""

    def __post_init__(self) -> None:
        if not self.fields or not all(name.strip() for name in self.fields):
            raise InputError(f"fields is {list(self.fields)}; it must name at least one field, and no name is empty")
        if repeated := sorted({name for name in self.fields if self.fields.count(name) > 1}):
            raise InputError(f"fields has {', '.join(repeated)} twice; name each field once")
        for key in ("amount", "count", "unit_price", "discount"):
            name = getattr(self, key)
            if name and name not in self.fields:
                raise InputError(f"{key} is {name!r}; allowed is one of its fields: {', '.join(self.fields)}")
        if not self.amount and (self.count or self.unit_price or self.discount):
            raise InputError("count, unit_price and discount have no meaning without amount; name the field of amounts")
