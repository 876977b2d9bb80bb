"""The quick order of keys is that of their bytes."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from views.state.sorting import order_of

pieces = st.sampled_from([b"", b"\x00", b"\x01", b"\xff", b"c0", b"\x00" * 8, b"12345678", b"\x80" + b"\x00" * 9])
keys = st.lists(st.binary(max_size=30) | st.lists(pieces, max_size=5).map(b"".join), max_size=40)


@given(keys=keys, before=st.lists(st.binary(max_size=9), max_size=2), prefix=st.binary(max_size=20))
@example(keys=[b"a\x00", b"a", b"a\x00\x00"], before=[], prefix=b"")
@example(keys=[b"a" * 8 + b"b", b"a" * 8, b"a" * 7], before=[b"x"], prefix=b"")
@example(keys=[b"", b"", b""], before=[], prefix=b"")
def test_keys_are_in_the_order_of_their_bytes(keys: list[bytes], before: list[bytes], prefix: bytes) -> None:
    prefixed = [prefix + key for key in keys]
    array = pa.array([*before, *prefixed], pa.binary())[len(before) :]
    order = order_of(array).tolist()
    assert sorted(order) == list(range(len(keys)))
    assert [prefixed[place] for place in order] == sorted(prefixed)
