"""A request of the review page that is refused."""

from collections.abc import Mapping


class RefusedError(Exception):
    """Ends a request with an error response.

    Args:
        status: HTTP status.
        code: error code in the body.
        message: what was wrong, the value, what is allowed.
        headers: of the response.
    """

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = headers
        self.status = status
        self.code = code
