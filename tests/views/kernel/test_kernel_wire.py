"""What a map hands to a fold is the same after its way through the shuffle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from generators import Scenario, scenarios
from generators.kernels import messages_of, project_of
from hypothesis import given, settings
from hypothesis import strategies as st

from views.kernel.map import MapKernel, SlotRange
from views.kernel.partials import Changes, SlotResult, ViewPartials
from views.kernel.wire import decode, encode
from views.plan import plan_group
from views.state import PeriodEntry, Quarantined, State

_FATES = ["applied", "late", "malformed"]
_counts = st.dictionaries(st.sampled_from(_FATES), st.integers(0, 1 << 40))
_instants = st.integers(-(1 << 62), 1 << 62)
_blobs = st.binary(max_size=12)


@st.composite
def _partials(draw: st.DrawFn) -> ViewPartials:
    rows = draw(st.integers(1, 5))
    keys = pa.array(draw(st.lists(_blobs, min_size=rows, max_size=rows)), pa.binary())
    starts = np.array(draw(st.lists(_instants, min_size=rows, max_size=rows)), np.int64)
    sketches = np.empty(rows, dtype=object)
    sketches[:] = draw(st.lists(_blobs, min_size=rows, max_size=rows))
    columns = {
        "calls.count": np.array(draw(st.lists(st.integers(0, 1 << 60), min_size=rows, max_size=rows)), np.int64),
        "load.sum": np.array(draw(st.lists(st.floats(), min_size=rows, max_size=rows)), np.float64),
        "load.some": np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), np.uint8),
        "kinds.sketch": sketches,
    }
    periods = st.builds(PeriodEntry, _instants, _instants, st.integers(-9, 9), st.text(max_size=8))
    names = draw(st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True).map(tuple))
    of = np.array(draw(st.lists(st.integers(0, len(names) - 1), min_size=rows, max_size=rows)), np.int32)
    entries = tuple(draw(st.lists(periods, max_size=2)))
    return ViewPartials(names, of, keys, draw(st.none() | st.just(starts)), columns, entries)


@st.composite
def _changes(draw: st.DrawFn) -> Changes:
    rows = draw(st.integers(1, 4))
    texts = draw(st.lists(st.none() | st.text(max_size=4), min_size=rows, max_size=rows))
    cut = draw(st.integers(0, rows))  # a table in several pieces, as a filter leaves it
    table = pa.table(
        {"number": pa.chunked_array([pa.array(texts[:cut], pa.string()), pa.array(texts[cut:], pa.string())])}
    )
    return Changes(
        pa.array(draw(st.lists(_blobs, min_size=rows, max_size=rows)), pa.binary()),
        np.array(draw(st.lists(_instants, min_size=rows, max_size=rows)), np.int64),
        np.arange(rows),
        np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), np.bool_),
        table,
    )


_quarantined = st.builds(
    Quarantined,
    st.integers(0, 1 << 60),
    st.sampled_from(_FATES),
    st.text(max_size=20),
    _blobs,
    st.none() | st.text(max_size=5),
)
_results = st.builds(
    SlotResult,
    st.integers(0, 4095),
    st.integers(0, 1 << 50),
    st.none() | _instants,
    _counts,
    _counts,
    st.lists(_quarantined, max_size=3).map(tuple),
    st.lists(_partials(), max_size=2).map(tuple),
    st.dictionaries(st.text(max_size=5), _changes(), max_size=2),
)


def _plain(result: SlotResult) -> dict[str, Any]:
    """Everything in it as Python values; floats by their bits, since a NaN is what it is too."""
    return {
        "ledger": (result.slot, result.next_offset, result.clock, dict(result.fates), dict(result.counters)),
        "quarantine": result.quarantine,
        "partials": [
            (
                [each.views[view] for view in each.of.tolist()],
                each.keys.to_pylist(),
                None if each.starts is None else each.starts.tolist(),
                {
                    column: (values.dtype, values.tolist() if values.dtype == object else values.tobytes())
                    for column, values in each.columns.items()
                },
                each.periods,
            )
            for each in result.partials
        ],
        "changes": {
            name: (
                each.keys.to_pylist(),
                each.valid_from.tolist(),
                each.sns.tolist(),
                each.deleted.tolist(),
                each.rows.schema,
                each.rows.to_pylist(),
            )
            for name, each in result.changes.items()
        },
    }


@settings(max_examples=100)
@given(result=_results)
def test_decode_is_the_inverse_of_encode(result: SlotResult) -> None:
    assert _plain(decode(encode(result))) == _plain(result)


@settings(max_examples=30)
@given(scenario=scenarios(), shards=st.integers(1, 7))
def test_what_maps_make_of_random_groups_survives_the_wire(
    scenario: Scenario, shards: int, tmp_path_factory: Any
) -> None:
    project = project_of(scenario.text, tmp_path_factory.mktemp("wire"))
    plan = plan_group(project.definition, project.check().admitted.values())
    state = State.prepare(
        project.state_dir,
        "drawn",
        plan.view_layouts,
        plan.relation_layouts,
        shards=shards,
        tzdata="test",
        topics={"journal": 1},
        map_size=1 << 24,
    )
    try:
        count = len(scenario.records)
        made = MapKernel(plan, state).map(SlotRange(0, 0, count, 0, None), messages_of(scenario.records))
        for share in made.of_shards(shards):
            assert _plain(decode(encode(share))) == _plain(share)
    finally:
        state.close()
