import pytest

from layoutray.cluster.worker_pool import batch_sizes


@pytest.mark.parametrize(("count", "workers"), [(1, 2), (7, 4), (100, 2), (1000, 8)])
def test_batches_hold_every_page_once_and_end_small(count: int, workers: int) -> None:
    sizes = list(batch_sizes(count, workers, 64))
    assert sum(sizes) == count
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= 64
    assert sizes[-1] == 1
