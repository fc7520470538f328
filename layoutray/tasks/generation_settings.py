"""Settings of text generation: the recipe's section [task.writing]."""

from dataclasses import dataclass, field
from typing import Literal

from layoutray.architectures import check_ranges
from layoutray.errors import InputError
from layoutray.nn.decoder import DecoderConfig


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How a model generates texts.

    Attributes:
        max_length: most tokens of a text, its end token not counted; longer texts are cut in training, and counted.
        min_length: fewest tokens of a generated text.
        no_repeat: no sequence of this many tokens occurs twice in a generated text; 0 allows repetitions.
        label_smoothing: in training, the share of each target that is spread evenly over the vocabulary.
        decoder: the decoder's configuration.
        begin: the special token that starts generation; models of fairseq start with their `end` token.
    """

    max_length: int = 128
    min_length: int = 0
    no_repeat: int = 0
    label_smoothing: float = 0.0
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    begin: Literal["start", "end"] = "start"

    def __post_init__(self) -> None:
        for part in (self, self.decoder):
            check_ranges(part, smallest={"min_length": 0, "no_repeat": 0})
        if self.min_length > self.max_length:
            raise InputError(
                f"min_length is {self.min_length}; it must be at most max_length, which is {self.max_length}"
            )
