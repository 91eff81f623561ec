"""Turns what tutti-bench wrote into a table on standard output, the same in a file, and a chart for each family."""

import argparse
import pathlib
import sys

import relative
import results
import tables

try:
    import charts
except ModuleNotFoundError as missing:
    charts = None
    print(f"report: no charts, because Python lacks {missing.name} (Debian: python3-matplotlib)", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", nargs="+", type=pathlib.Path, help="from tutti-bench --benchmark_out")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for report.txt and the charts")
    parser.add_argument("--best", action="store_true", help="the best round of each cell instead of the median")
    arguments = parser.parse_args()

    families, context = results.read(arguments.json, arguments.best)
    if not families:
        sys.exit("report: nothing was measured")
    lines = []
    for family in families:
        kind = relative if relative.applies(family) else tables
        lines += [kind.heading(family, context), tables.trust(family), "", *kind.table(family), ""]
    text = "\n".join(lines)
    print(text)
    (arguments.out / "report.txt").write_text(text, encoding="utf-8")
    for family in families if charts else []:
        path = arguments.out / f"{family.name}.svg"
        charts.draw(family, context, path)


if __name__ == "__main__":
    main()
