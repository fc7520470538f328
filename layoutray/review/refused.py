"""A request of the review page that is refused."""


class RefusedError(Exception):
    """Ends a request with an error response.

    Args:
        status: HTTP status.
        code: error code in the body.
        message: what was wrong, the value, what is allowed.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
