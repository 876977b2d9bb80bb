"""What an append costs a view, measured: `chronicle explain --measure` sets it beside the bound (Theorems 4.2, 4.5).

Generated appends run through the real kernels into a temporary state, in this process and without Spark.
"""

from __future__ import annotations

from views.measure.cost import Cost, Growth, Point, measure
from views.measure.samples import Samples
from views.measure.trial import Trial

__all__ = ["measure", "Cost", "Growth", "Point", "Samples", "Trial"]
