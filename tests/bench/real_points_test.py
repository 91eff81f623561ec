#!/usr/bin/env python3
"""What two real nodes have done stands at the points of the charts that it is of: real_points_test.py <bench>."""
import pathlib
import sys

BENCH = pathlib.Path(sys.argv[1])
sys.path += [str(BENCH / "cluster"), str(BENCH / "contention")]

import calibration  # pylint: disable=wrong-import-position
from figures import Charts, measured  # pylint: disable=wrong-import-position

real = {point: {"per_second": float(i)} for i, point in enumerate(calibration.TWO)}
for quick in (False, True):
    lines = [l for chart in Charts(quick).all for panel in chart.panels if panel.value == "per_second" for l in panel.lines]
    found = [stars for line in lines if (stars := measured(line, real, "per_second"))]
    assert all(set(stars) == {2} for stars in found), found
    drawn = sorted(stars[2] for stars in found)
    # Eight threads of two nodes appear in no chart.
    assert drawn == [float(i) for i, point in enumerate(calibration.TWO) if "--threads" not in point], (quick, drawn)
