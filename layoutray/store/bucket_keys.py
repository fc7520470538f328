"""The objects in a bucket of S3, listed by boto3 a thousand keys at a time."""

import functools
from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from layoutray.errors import InputError


def listed(bucket: str, path: str, variables: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, int, int]]:
    """The objects below `path` in a bucket, or the object `path` itself if there are none. Buckets list keys sorted.

    Args:
        variables: the `AWS_*` variables of the environment.

    Yields:
        `BUCKET/KEY`, size in bytes and time of the last change in nanoseconds.

    Raises:
        InputError: if the bucket cannot be listed.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    client = _s3_client(variables)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{path}/" if path else "")
    try:
        objects = chain.from_iterable(page.get("Contents", ()) for page in pages)
        first = next(objects, None)
        if first is None and path:
            matches = client.list_objects_v2(Bucket=bucket, Prefix=path, MaxKeys=1).get("Contents", ())
            objects = (info for info in matches if info["Key"] == path)
        for info in objects if first is None else chain([first], objects):
            if not info["Key"].endswith("/"):
                yield f"{bucket}/{info['Key']}", info["Size"], round(info["LastModified"].timestamp() * 1e9)
    except (BotoCoreError, ClientError) as error:
        raise InputError(
            f"bucket {bucket} cannot be listed: {error}; check its name, the credentials (AWS_ACCESS_KEY_ID and "
            "related variables) and, for a server other than AWS, AWS_ENDPOINT_URL"
        ) from error


@functools.lru_cache(maxsize=4)
def _s3_client(variables: tuple[tuple[str, str], ...]) -> Any:
    # Cached by `variables`; boto3 reads the environment itself. Imported here because few processes list buckets, and
    # the import takes 0.25 s, creating a client 0.1 s.
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config
    from botocore.session import get_session

    core = get_session()
    # With boto3's own parser, parsing times takes more than half of the time of a listing.
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=datetime.fromisoformat)
    session = boto3.Session(botocore_session=core)
    signature = UNSIGNED if session.get_credentials() is None else None
    return session.client("s3", config=Config(retries={"mode": "standard"}, signature_version=signature))
