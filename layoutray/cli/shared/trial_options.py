"""Options of the verbs that train several models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.options import JobOptions, TrainingOptions, option

if TYPE_CHECKING:
    from layoutray.cluster.trials import Share


@dataclass(frozen=True, kw_only=True)
class TrialOptions(TrainingOptions):
    """Options of every verb that trains several models; see `layoutray.cluster.trials.Share`."""

    cpus: float = options.cpus(1)
    max_failures: int = options.max_failures(0)
    at_once: int = option(
        "--at-once",
        type=checked.whole,
        default=0,
        help="concurrent trials; 0 is as many as the cores allow, or all if nodes may join the cluster "
        "(default: %(default)s)",
    )

    def share(self) -> "Share":
        from layoutray.cluster.trials import Share  # imports PyTorch and Ray, for which `--help` shall not wait

        return Share(
            at_once=self.at_once, cpus=self.cpus, gpus=self.gpus, threads=self.threads, max_failures=self.max_failures
        )


@dataclass(frozen=True, kw_only=True)
class TrialJobOptions(TrialOptions, JobOptions):
    """Options of every verb that trains one recipe several times on one set of examples."""


@dataclass(frozen=True, kw_only=True)
class SeedOptions(TrialOptions):
    """Options of every verb that trains a recipe with several seeds."""

    seeds: Sequence[int] = option(
        "--seeds",
        nargs="+",
        type=checked.whole,
        default=[1, 2, 3],
        metavar="SEED",
        help="of the trainings (default: 1 2 3)",
    )

    @property
    def distinct_seeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.seeds))
