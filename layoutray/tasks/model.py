"""An encoder with a task's head."""

from dataclasses import replace
from typing import Protocol, cast, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn

from layoutray.errors import InputError
from layoutray.tensors import Batch, Encoded, Encoder, PacksTokens


class Head(Protocol):
    """A module that turns encoded states into scores and into a loss."""

    def __call__(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]: ...

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Cross-entropy summed over the targets of `batch`; the caller divides by their number."""
        ...


@runtime_checkable
class TargetHead(Head, Protocol):
    """A head whose loss reads only the states of the tokens with a target."""

    def target_loss(self, states: Float[Tensor, "targets width"], targets: Int[Tensor, " targets"]) -> Tensor:
        """As `Head.loss`, from these states and their targets."""
        ...


@runtime_checkable
class FittedHead(Protocol):
    """A head that is fitted at once to the states of all examples, each with one target; the encoder is not trained."""

    def __call__(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]: ...

    def features(self, encoded: Encoded) -> Float[Tensor, "batch features"]:
        """What the head takes of the states of each example."""
        ...

    def fit(self, features: Float[Tensor, "examples features"], targets: Int[Tensor, " examples"]) -> float:
        """Set the parameters from all examples, on the CPU. Returns the mean loss."""
        ...


@runtime_checkable
class EncoderPartHead(Protocol):
    """A head that trains one part of an encoder; the encoder's states are not computed."""

    def encoder_loss(self, encoder: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """As `Head.loss`."""
        ...


class TaskModel(nn.Module):
    """An encoder with a head. The forward pass returns the summed loss, because DDP wraps one call."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        head, encoder, packing = self.head, self.encoder, batch.packing
        if isinstance(head, EncoderPartHead):
            return head.encoder_loss(encoder, batch)
        if packing is not None and isinstance(head, TargetHead) and isinstance(encoder, PacksTokens):
            assert batch.labels is not None, "a loss needs a batch with labels"
            targets = packing.tokens.pack(batch.labels)[0, packing.target_index]
            self._check_length(batch)
            return head.target_loss(encoder.target_states(batch), targets)
        return cast(Head, head).loss(self.encoded(batch), batch)

    def scores(self, batch: Batch) -> tuple[Encoded, Float[Tensor, "batch kept labels"]]:
        """Encoded states, and the head's logits for each of them."""
        encoded = self.encoded(batch)
        return encoded, self.head(encoded)

    def encoded(self, batch: Batch) -> Encoded:
        """The encoder's states, also of names that are asked for. Raises InputError for windows that are too long."""
        self._check_length(batch)
        words = None if batch.word_index is None else batch.input_ids.masked_fill(batch.word_index < 0, -1)
        names = batch.names and (batch.names, self.encoder(batch.names.windows))
        return replace(self.encoder(batch), words=words, names=names)

    def _check_length(self, batch: Batch) -> None:
        length, longest = batch.input_ids.shape[1], cast(Encoder, self.encoder).max_length
        if length > longest:
            raise InputError(
                f"a window has {length} tokens, but the model takes at most {longest}; "
                "cut pages into windows of at most max_length tokens"
            )


def targets_of_states(encoded: Encoded, batch: Batch) -> Tensor:
    """The targets (batch, kept) of the tokens that the states stand for; -100 on padding."""
    assert batch.labels is not None, "a loss needs a batch with labels"
    return batch.labels.gather(1, encoded.origin).masked_fill(~encoded.mask, -100)
