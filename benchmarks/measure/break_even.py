"""From how many pages on an own model is cheaper than an API."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OwnModel:
    """What an own model costs that learns from the values of an API.

    Attributes:
        core_hour: price of a core for an hour, in dollars.
        page_seconds: CPU seconds of a page, from the file to its fields.
        training_seconds: CPU seconds of `train`.
        labelled_pages: pages of which the API states the values.
    """

    core_hour: float
    page_seconds: float
    training_seconds: float
    labelled_pages: int

    @property
    def page(self) -> float:
        """Dollars for a page."""
        return self.page_seconds * self.core_hour / 3600

    def break_even(self, api_page: float) -> float:
        """Pages from which it is cheaper than the API at `api_page` dollars a page; infinite if it never is.

        (labelled pages · API page + training) / (API page - own page)
        """
        once = self.labelled_pages * api_page + self.training_seconds * self.core_hour / 3600
        return once / (api_page - self.page) if api_page > self.page else math.inf
