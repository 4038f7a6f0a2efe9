"""The chain of pages is counted, and a broken or endless one refused before anything follows it."""

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.data.decoding import Unreadable
from scopefl.data.ifd import check_chain
from scopefl.testing.exhibit import tiff

PAGES = np.zeros((3, 16, 16), dtype=np.uint8)


@pytest.mark.parametrize("options", [{}, {"bigtiff": True}, {"byteorder": ">"}])
def test_the_pages_of_a_whole_file_are_counted(options: dict[str, object]) -> None:
    data = tiff(PAGES, photometric="minisblack", metadata=None, **options)
    assert check_chain(io.BytesIO(data)) == 3


def test_a_page_outside_the_file_is_refused() -> None:
    data = bytearray(tiff(PAGES[0]))
    struct.pack_into("<I", data, 4, len(data) + 8)
    with pytest.raises(Unreadable, match="outside it"):
        check_chain(io.BytesIO(data))


@given(st.sampled_from([b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"]), st.binary(max_size=64))
def test_any_chain_ends(magic: bytes, rest: bytes) -> None:
    try:
        pages = check_chain(io.BytesIO(magic + rest))
    except Unreadable:
        pages = 0
    assert pages <= 6
