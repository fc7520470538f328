"""The setting `task.mask_share` of tasks that hide a part of the tokens."""

from layoutray.errors import InputError


def check_mask_share(share: float) -> None:
    """Raise InputError unless 0 < `share` <= 1."""
    if not 0 < share <= 1:
        raise InputError(f"task.mask_share is {share}; it must be above 0 and at most 1")
