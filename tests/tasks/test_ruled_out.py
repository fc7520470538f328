"""Words of which is known only that they are not of some types: their targets, their loss, and what they do not say."""

import pytest
import torch
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.document.tags import is_known, is_unknown, kinds_ruled_out, spans, unknown_but_not
from layoutray.tasks import ruled_out
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from layoutray.tasks.word_labels import TokenClassificationHead
from tests.tasks.test_entities_bioes import example, page

THREE = ("O", *(f"{part}-{kind}" for kind in ("date", "shop", "total") for part in "BIES"))


def test_an_unknown_tag_says_which_types_a_word_is_not_of() -> None:
    tag = unknown_but_not(["total", "date", "total"])
    assert kinds_ruled_out(tag) == ["date", "total"]
    assert (is_unknown(tag), is_unknown("?"), is_unknown("O"), is_unknown(None)) == (True, True, False, False)
    assert [is_known(one) for one in (tag, "?", None, "O", "B-total")] == [False, False, False, True, True]
    assert spans(["B-total", tag, "I-total"]) == [("total", 0, 1), ("total", 2, 3)]


@pytest.mark.parametrize("task", [Entities(), EntitiesBioes()])
def test_targets_of_words_that_nobody_has_answered(task: Entities) -> None:
    labels = task.label_names([["B-date", "B-total"]])
    tags = ["B-total", "?", unknown_but_not(["total"]), unknown_but_not(["total", "other"]), unknown_but_not(["other"])]
    made = example(page(*tags), 0, range(5), task, labels)
    assert made.labels is not None
    total, nothing, not_total, also, other = made.labels.tolist()[1:-1]
    assert labels[total].endswith("-total")
    assert nothing == other == IGNORED
    assert not_total == also < IGNORED
    assert ruled_out.kinds(torch.tensor([total, nothing, not_total]), 2).tolist() == [[False, False]] * 2 + [
        [False, True]
    ]


def test_types_beyond_the_thirtieth_are_not_ruled_out_and_targets_fit_into_32_bits() -> None:
    labels = ["O", *(f"B-{number:02}" for number in range(40))]
    target = ruled_out.target([f"{number:02}" for number in range(40)], labels)
    assert target >= -(2**31)
    assert ruled_out.kinds(torch.tensor([target]), 40).sum() == 30
    assert ruled_out.target(["35"], labels) == IGNORED


def test_the_loss_is_that_of_all_labels_that_a_word_may_have() -> None:
    logits = torch.randn(4, len(THREE), requires_grad=True)
    not_total = ruled_out.target(["total"], THREE)
    not_two = ruled_out.target(["total", "date"], THREE)
    loss = ruled_out.cross_entropy(logits, torch.tensor([3, IGNORED, not_total, not_two]), 4)
    shares = logits.detach().softmax(1)
    kinds = [label[2:] for label in THREE]
    allowed = [[kind not in out for kind in kinds] for out in ({"total"}, {"total", "date"})]
    expected = -(
        shares[0, 3].log() + sum(shares[2 + at][torch.tensor(one)].sum().log() for at, one in enumerate(allowed))
    )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    loss.backward()
    assert logits.grad is not None
    assert not logits.grad[1].any(), "an unknown word teaches nothing"
    of_allowed = torch.tensor(allowed[0])
    assert (logits.grad[2][~of_allowed] > 0).all()
    inside = logits.grad[2][of_allowed] / shares[2][of_allowed]
    assert torch.allclose(inside, inside[0].expand_as(inside), atol=1e-5), "labels that it may have keep their ratios"


def test_a_head_has_the_loss_of_its_labels_parts() -> None:
    head, states = TokenClassificationHead(8, len(THREE), 0.0, parts=4), torch.randn(2, 8)
    logits = head.classifier(states)
    targets = torch.tensor([2, ruled_out.target(["shop"], THREE)])
    assert torch.equal(head.target_loss(states, targets), ruled_out.cross_entropy(logits, targets, 4))
    usual = functional.cross_entropy(logits, torch.tensor([2, 0]), reduction="sum")
    assert torch.equal(head.target_loss(states, torch.tensor([2, 0])), usual)
