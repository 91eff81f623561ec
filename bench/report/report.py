"""Turns what tutti-bench wrote into a table on standard output, the same in a file, and a chart for each family."""

import argparse
import pathlib
import sys

import results
import tables


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", nargs="+", type=pathlib.Path, help="from tutti-bench --benchmark_out")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for report.txt and the charts")
    arguments = parser.parse_args()

    families, context = results.read(arguments.json)
    if not families:
        sys.exit("report: nothing was measured")
    lines = []
    for family in families:
        lines += [tables.heading(family, context), "", *tables.table(family), ""]
    text = "\n".join(lines)
    print(text)
    (arguments.out / "report.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
