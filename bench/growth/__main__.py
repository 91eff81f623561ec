"""Measures how what an operation costs grows with the size of what it works on, under each algorithm."""

import argparse
import json
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(BENCH / "report"), str(BENCH / "contention")]

import instructions  # pylint: disable=wrong-import-position
import size_series  # pylint: disable=wrong-import-position
from curves import Report  # pylint: disable=wrong-import-position
from programs import Failure  # pylint: disable=wrong-import-position

# The measured part of a document is between these marks.
MARKS = "<!-- measured: ./dev bench growth -->", "<!-- end of what was measured -->"


def names(text):
    return text.split(",")


def size(text):
    number = float(text)
    if not number >= 1:
        raise argparse.ArgumentTypeError("give a number from 1 on, such as 1e5")
    return int(number)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give a whole number from 1")
    return number


def seconds(text):
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError("give a number of seconds")
    return number


def parse():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="tables and a chart of what was measured, beside it")
    report.add_argument("json", type=pathlib.Path)
    report.add_argument("--markdown", action="store_true", help="tables for a document, and no files")
    report.add_argument("--into", type=pathlib.Path, help="a document: tables between its two marks, chart in docs/figures/")
    report.add_argument("--summary", action="store_true", help="a line for each curve, and no files")
    measure = commands.add_parser("measure", help="measures, and writes growth.json")
    programs = pathlib.Path("build/release/bin")
    measure.add_argument("--bin", type=pathlib.Path, default=programs, help="where the program is")
    measure.add_argument("--out", type=pathlib.Path, required=True, help="folder for the figures")
    measure.add_argument("--quick", action="store_true", help="decades up to 1e5, and less time for each point")
    measure.add_argument("--algorithms", type=names, help="of TUTTI_ALGORITHM, or default (all)")
    measure.add_argument("--curves", type=names, help="curves, or families of them (all)")
    measure.add_argument("--largest", type=size, help="no larger sizes")
    measure.add_argument("--rounds", type=positive, help="times that each point is measured (3; quick: 1)")
    measure.add_argument("--milliseconds", type=positive, help="for each of them (20; quick: 10)")
    measure.add_argument("--limit", type=seconds, help="seconds after which a point is stopped (10; quick: 2)")
    measure.add_argument("--instructions", action="store_true", help="count those of what grows faster than it should")
    return parser.parse_args()


def put_between_marks(document, tables):
    text = document.read_text(encoding="utf-8")
    before, found, rest = text.partition(MARKS[0])
    _, ended, after = rest.partition(MARKS[1])
    if not found or not ended:
        raise Failure(f"{document} lacks the marks {MARKS[0]} and {MARKS[1]}")
    document.write_text(f"{before}{MARKS[0]}\n\n{tables}\n{MARKS[1]}{after}", encoding="utf-8")


def print_results(options):
    path = options.json
    report = Report(json.loads(path.read_text(encoding="utf-8")))
    if options.markdown or options.summary:
        print(report.markdown() if options.markdown else report.summary(), end="")
        return
    chart = path.with_suffix(".svg")
    if options.into:
        put_between_marks(options.into, report.markdown())
        chart = BENCH.parent / "docs" / "figures" / "growth.svg"
    else:
        text = report.text()
        print(text, end="")
        (path.parent / "report.txt").write_text(text, encoding="utf-8")
    try:
        import ratio_table  # pylint: disable=import-outside-toplevel
    except ModuleNotFoundError as missing:
        print(f"bench: no chart, because Python lacks {missing.name} (Debian: python3-matplotlib)", file=sys.stderr)
        return
    ratio_table.draw(chart, report)


def main():
    options = parse()
    try:
        if options.command == "report":
            print_results(options)
        else:
            document = size_series.measure(options)
            if options.instructions:
                above = Report(document).above_due()
                document["instructions"] = instructions.count(options.bin / "tutti-bench-growth", above)
            (options.out / "growth.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except Failure as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
