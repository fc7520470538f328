from dataclasses import replace

import pytest

from layoutray.architectures.skimformer import ARCHITECTURE
from layoutray.nn.weight_names.skim_attention import POSITIONS, SKIMFORMER
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tasks.word_labels import TokenClassificationHead


@pytest.mark.parametrize("layout", ["boxes", "degraded", "uniform", "1d"])
def test_every_parameter_has_one_name_on_each_side(layout: str) -> None:
    config = replace(ARCHITECTURE.sizes["tiny"], layout=layout, contextualiser_layers=0 if layout == "1d" else 2)
    encoder = ARCHITECTURE.build(config, vocab_size=20, pad_id=0)
    table = POSITIONS if layout == "1d" else SKIMFORMER
    for head in (MaskedLanguageModelHead(encoder), TokenClassificationHead(encoder.width, 3, 0.1)):
        ours = list(TaskModel(encoder, head).state_dict())
        theirs = [table.to_theirs(name) for name in ours]
        assert len(set(theirs)) == len(ours)
        assert [table.to_ours(name) for name in theirs] == ours
