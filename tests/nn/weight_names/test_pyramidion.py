from dataclasses import replace

import pytest

from layoutray.architectures.pyramidion import ARCHITECTURE
from layoutray.nn.decoder import DecoderConfig
from layoutray.nn.weight_names.pyramidion import table
from layoutray.tasks import GenerationSettings, TaskModel
from layoutray.tasks.text_generation import TextGenerationHead


@pytest.mark.parametrize("halvings", [(0, 0), (0, 2), (1, 1)])
def test_every_parameter_has_one_name_on_each_side(halvings: tuple[int, ...]) -> None:
    encoder = ARCHITECTURE.build(replace(ARCHITECTURE.sizes["tiny"], halvings=halvings), vocab_size=20, pad_id=1)
    names = table(halvings)
    ours = list(
        TaskModel(
            encoder, TextGenerationHead(encoder, GenerationSettings(decoder=DecoderConfig(layers=2, heads=4)))
        ).state_dict()
    )
    theirs = [names.to_theirs(name) for name in ours]
    assert len(set(theirs)) == len(ours)
    assert [names.to_ours(name) for name in theirs] == ours
    assert [names.is_dropped(f"encoder.pooler.scorer.{layer}.weight") for layer in range(2)] == [
        number == 0 for number in halvings
    ]
