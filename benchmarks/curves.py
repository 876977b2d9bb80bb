"""How a cost grows with a size: a curve, the exponent of its growth, and the picture of it.

A picture is a small SVG that follows the reader's light or dark scheme; both axes are logarithmic, so that a power is a
straight line and its exponent the slope.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from benchmarks.figures import Figure, number

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 52, 48
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 14px; font-weight: 600 }
  .grid { stroke: #d0d7de; stroke-width: 1 } .line { fill: none; stroke-width: 2.5 }
  .s0 { stroke: #0969da } .s1 { stroke: #bc4c00 } .s2 { stroke: #1a7f37 } .s3 { stroke: #8250df }
  circle { stroke-width: 2.5; fill: #ffffff } .back { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .grid { stroke: #3d444d } circle, .back { fill: #0d1117 }
    .s0 { stroke: #58a6ff } .s1 { stroke: #f0883e } .s2 { stroke: #3fb950 } .s3 { stroke: #bc8cff }
  }
"""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Curve:
    """Costs by size, one line or several; `name` is that of its picture, `note` what else there is to say."""

    name: str
    title: str
    size: str
    cost: str
    lines: Mapping[str, Points]
    note: str = ""

    def figures(self, targets: Mapping[str, str]) -> Iterator[Figure]:
        """The largest size against the smallest, and the exponent, of each line; targets are for the first."""
        for name, points in self.lines.items():
            (least, first), (most, last) = points[0], points[-1]
            what = self.title if len(self.lines) == 1 else f"{self.title}: {name}"
            across = f"{number(first)} at {number(least)}, {number(last)} at {number(most)} {self.size}; {self.cost}"
            grows = f"grows as n^{exponent(points):.2f}"
            detail = "; ".join(filter(None, (across, grows, self.note)))
            yield Figure(what, last / first, "times", targets.get(name, ""), detail)


def exponent(points: Points) -> float:
    """The slope of the line that fits best through the logarithms."""
    sizes, costs = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(sizes, costs, 1)[0])


def picture(curve: Curve) -> str:
    sizes = [size for points in curve.lines.values() for size, _ in points]
    costs = [cost for points in curve.lines.values() for _, cost in points]
    across, up = _Axis.over(sizes, LEFT, WIDTH - RIGHT), _Axis.over(costs, HEIGHT - BOTTOM, TOP, decades=2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(curve.title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        _text(LEFT, 24, curve.title, "title"),
        _text(WIDTH - RIGHT, HEIGHT - 10, curve.size, anchor="end"),
        _text(LEFT, TOP - 6, curve.cost),
    ]
    for tick in across.ticks():
        x = across.at(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(_text(x, HEIGHT - BOTTOM + 18, _power(tick), anchor="middle"))
    for tick in up.ticks():
        y = up.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{tick:g}", anchor="end"))
    for place, (name, points) in enumerate(curve.lines.items()):
        placed = [(across.at(size), up.at(cost)) for size, cost in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline class="line s{place % 4}" points="{path}"/>')
        if len(points) <= 12:
            parts += [f'<circle class="s{place % 4}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in placed]
        x, y = placed[-1]
        label = f"{name}: n^{exponent(points):.2f}" if name else f"n^{exponent(points):.2f}"
        parts.append(_text(min(x, WIDTH - RIGHT), y - 8, label, anchor="end"))
    return "\n".join([*parts, "</svg>\n"])


@dataclass(frozen=True, slots=True)
class _Axis:
    """A logarithmic axis from the power of ten below the least to the one above the largest."""

    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], begin: float, end: float, decades: int = 1) -> _Axis:
        low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
        return cls(low, max(high, low + decades), begin, end)

    def at(self, value: float) -> float:
        return self.begin + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(int(self.low), int(self.high) + 1)]


def _power(tick: float) -> str:
    power = str(round(math.log10(tick))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{power}"


def _text(x: float, y: float, text: str, css: str = "", anchor: str = "start") -> str:
    named = f' class="{css}"' if css else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
