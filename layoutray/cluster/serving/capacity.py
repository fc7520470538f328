"""How much the replicas take at once."""

from dataclasses import dataclass


@dataclass(slots=True)
class Capacity:
    """The replicas behind one ingress.

    Attributes:
        readers, models: their numbers.
        batch_size: most pages of a model batch.
    """

    readers: int
    models: int
    batch_size: int

    def pages_in_ocr(self) -> int:
        """Pages at the readers: one more than readers, so that a reader that becomes free has its next page at once."""
        return self.readers + 1

    def batches(self) -> int:
        """Batches at the model replicas: one that runs and one that comes next at each."""
        return 2 * self.models
