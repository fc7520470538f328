"""Encoder `power` of the Pyramidion family: PoWER-BERT (arXiv:2001.08950) with the halvings of DeepPyramidion.

It keeps, unmixed, the tokens that received the most attention.
"""

from layoutray.nn.encoder_family import Member
from layoutray.nn.pooling_layer import PoolingKind
from layoutray.nn.token_pooling import HalvingSettings

ENCODER = Member(halvings=tuple, pooling=PoolingKind("hard", "attention", HalvingSettings()))
