"""Fair shares of a resource: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996).

Each owner of work has a virtual time, which grows by the cost of what was done for it. The next piece of work is of the
owner with the least one. An owner that had no work begins at the virtual time of the last piece, so nobody saves up
shares. Owners with work get equal shares of the cost, and one that sends little waits for one piece of the others at
most, however much they send. The cost may be corrected once it is known.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairShares:
    """The virtual times of owners."""

    def __init__(self) -> None:
        self._now = 0.0
        self._times: dict[str, float] = {}

    def order(self, owners: Iterable[str]) -> list[str]:
        """The owners, the one whose turn it is first."""
        return sorted(owners, key=self._time)

    def begin(self, owner: str, cost: float) -> None:
        """Note that work of `owner`, which has its turn, begins."""
        self._now = self._time(owner)
        self._times = {name: time for name, time in list(self._times.items()) if time > self._now}
        self.charge(owner, cost)

    def charge(self, owner: str, cost: float) -> None:
        """Add to what an owner has had; a cost below 0 takes back a part of what was too much."""
        self._times[owner] = self._time(owner) + cost

    def _time(self, owner: str) -> float:
        return max(self._times.get(owner, 0.0), self._now)


class FairQueue(Generic[Item]):
    """Items that wait, in fair order over owners. Documents of an owner take turns."""

    def __init__(self) -> None:
        self._shares = FairShares()
        self._waiting: dict[str, dict[Hashable, deque[Item]]] = {}

    def put(self, owner: str, document: Hashable, item: Item) -> None:
        self._waiting.setdefault(owner, {}).setdefault(document, deque()).append(item)

    def pop(self, cost: Callable[[Item], float], most: float) -> tuple[str, Item] | None:
        """The next item and its owner; None if nothing waits, or if the next item costs more than `most`."""
        if not self._waiting:
            return None
        (owner, *_) = self._shares.order(self._waiting)
        documents = self._waiting[owner]
        document, items = next(iter(documents.items()))
        if cost(items[0]) > most:
            return None
        item = items.popleft()
        del documents[document]
        if items:
            documents[document] = items
        if not documents:
            del self._waiting[owner]
        self._shares.begin(owner, cost(item))
        return owner, item

    def charge(self, owner: str, cost: float) -> None:
        self._shares.charge(owner, cost)
