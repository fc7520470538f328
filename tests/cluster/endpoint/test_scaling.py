"""Options of a deployment whose number of replicas may change."""

from layoutray.cluster.endpoint.scaling import replica_options
from layoutray.serving.settings import Scaling


def test_the_number_of_replicas_is_fixed_unless_there_may_be_more() -> None:
    assert replica_options(Scaling(), 2, None) == replica_options(Scaling(), 2, 2) == {"num_replicas": 2}
    autoscaling = replica_options(Scaling(more_after_s=3), 2, 5)["autoscaling_config"]
    assert (autoscaling.min_replicas, autoscaling.max_replicas, autoscaling.upscale_delay_s) == (2, 5, 3)
