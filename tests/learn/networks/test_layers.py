"""Observations as a network's input: one-hot choices, bytes, order of names, places of channels."""

import torch

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.networks.layers import ImageInput, OneHot, VectorInput


def test_one_hot_of_one_choice():
    taken = torch.tensor([[2], [0], [3]], dtype=torch.int32)
    assert torch.equal(OneHot((4,))(taken), torch.nn.functional.one_hot(taken[:, 0].long(), 4).float())


def test_one_hot_of_choices_of_different_sizes():
    taken = torch.tensor([[1, 0, 2], [0, 3, 0]])
    assert OneHot((2, 4, 3))(taken).tolist() == [[0, 1, 1, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1, 1, 0, 0]]


def test_vectors_are_joined_in_the_order_of_their_names():
    specs = {
        "b": ObservationSpec((2,)),
        "c": ObservationSpec((), torch.uint8),
        "a": ObservationSpec((), torch.int32, (3,)),
    }
    vectors = VectorInput(specs)
    joined = vectors(
        {
            "c": torch.tensor([255], dtype=torch.uint8),
            "a": torch.tensor([1], dtype=torch.int32),
            "b": torch.tensor([[5.0, 6.0]]),
        }
    )
    assert joined.tolist() == [[0, 1, 0, 5, 6, 1]]
    assert vectors.features == 6


def test_one_vector_of_real_numbers_is_not_copied():
    values = torch.randn(4, 3)
    assert VectorInput({"sight": ObservationSpec((3,))})({"sight": values}).data_ptr() == values.data_ptr()


def test_channels_come_first():
    first = torch.randint(0, 256, (2, 3, 8, 9), dtype=torch.uint8)
    last = first.permute(0, 2, 3, 1)
    for pictures in (first, last):
        image = ImageInput("screen", ObservationSpec(tuple(pictures.shape[1:]), torch.uint8))
        assert image.shape == (3, 8, 9)
        assert torch.equal(image({"screen": pictures}), first)
