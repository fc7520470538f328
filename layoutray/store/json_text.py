"""JSON of results that may hold infinite numbers or NaN, which JSON itself does not have.

They are written as the strings "Infinity", "-Infinity" and "NaN", as in the JSON mapping of Protocol Buffers; `float`
reads these strings. Files of earlier versions hold them without quotation marks, which `json.loads` accepts.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast


def dumps(content: Any, **options: Any) -> str:
    """`content` (plain dicts, lists, strings and numbers) as standard JSON; `options` are those of `json.dumps`."""
    return json.dumps(_standard(content), allow_nan=False, **options)


def _standard(content: Any) -> Any:
    match content:
        case float() if not math.isfinite(content):
            return "NaN" if math.isnan(content) else f"{'-' if content < 0 else ''}Infinity"
        case dict():
            return {key: _standard(value) for key, value in cast(Mapping[Any, Any], content).items()}
        case list() | tuple():
            return [_standard(value) for value in cast(Sequence[Any], content)]
        case _:
            return content
