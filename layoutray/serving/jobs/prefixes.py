"""Jobs of objects in a bucket: which addresses are allowed, and which objects are below them."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from layoutray.errors import ApiError, InputError
from layoutray.serving import failures
from layoutray.serving.jobs.records import JobFile
from layoutray.store import sources

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Folders in buckets that the operator allows, each as `BUCKET/KEY` without escapes and slash at the end."""

    allowed: tuple[str, ...]

    @classmethod
    def of(cls, addresses: Collection[str]) -> "Prefixes":
        """From addresses `s3://BUCKET/PATH`. Raises InputError when one has another form."""
        return cls(tuple(map(_folder, addresses)))

    def files(self, prefix: str, most: int) -> Sequence[JobFile]:
        """The objects below `prefix`. They are listed, not read.

        Args:
            most: objects that a job may have.

        Raises:
            ApiError: 422 an address of another form, 403 one that is not allowed, 400 no object, 413 too many objects,
                503 the bucket cannot be listed.
        """
        try:
            folder = _folder(prefix)
        except InputError as error:
            raise failures.invalid(f"prefix: {error}") from error
        if not self._allows(f"{folder}/"):
            message = f"prefix: {prefix} is not below an address that the operator allows; ask the operator"
            raise ApiError(403, "prefix_not_allowed", message, retryable=False)
        try:
            objects = list(islice(sources.list_files(prefix), most + 1))
        except InputError as error:
            _log.error("a prefix cannot be listed: %s", error)
            message = f"{prefix} cannot be listed now; see the log of the endpoint"
            raise ApiError(503, failures.UNAVAILABLE, message, retryable=True) from error
        if len(objects) > most:
            message = f"{prefix} has more than the allowed {most} objects; name folders below it"
            raise ApiError(413, "too_large", message, retryable=False)
        # The bucket may have an object with the very name of the folder, which is not below it.
        files = [JobFile(one, one, None) for one in objects if self._allows(sources.path_in_bucket(one) or "")]
        if not files:
            raise ApiError(400, "no_file", f"there is no object below {prefix}", retryable=False)
        return files

    def _allows(self, path: str) -> bool:
        return any(path.startswith(f"{folder}/") for folder in self.allowed)


def _folder(address: str) -> str:
    """`BUCKET/KEY` of an address. Raises InputError when it is none, or a part of it is empty or begins with a dot."""
    try:
        path = sources.path_in_bucket(address)
    except UnicodeDecodeError:
        path = None
    parts = (path or "").split("/")
    if path is None or any(not part or part.startswith(".") or min(part) < " " for part in parts):
        raise InputError(
            f"{address!r} must be an address s3://BUCKET/PATH, with special characters escaped (a blank as %20), and "
            "with no control character, and no part of the path empty or beginning with a dot"
        )
    return path
