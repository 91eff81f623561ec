"""Charts of clusters of up to a thousand nodes, simulated; and, where asked, of two real ones beside them."""

import argparse
import json
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(BENCH / "report"), str(BENCH / "contention")]

import calibration  # pylint: disable=wrong-import-position
import sheets  # pylint: disable=wrong-import-position
from figures import Charts  # pylint: disable=wrong-import-position
from points import measure, simulate  # pylint: disable=wrong-import-position
from programs import Failure  # pylint: disable=wrong-import-position


def natural(least):
    def parse(text):
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"give a whole number from {least}")
        return number

    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="tables and charts of what was simulated, beside it")
    report.add_argument("json", type=pathlib.Path)
    report.add_argument("--markdown", action="store_true", help="tables for a document, and no files")
    simulated = commands.add_parser("measure", help="simulates, and writes cluster.json")
    programs = pathlib.Path("build/release/bin")
    simulated.add_argument("--bin", type=pathlib.Path, default=programs, help="where the programs are")
    simulated.add_argument("--out", type=pathlib.Path, required=True, help="folder for the figures")
    simulated.add_argument("--quick", action="store_true", help="fewer points, and less virtual time for each")
    simulated.add_argument("--figures", type=lambda text: text.split(","), help="such as 6.1,6.5,scale (all)")
    simulated.add_argument("--calibrate", action="store_true", help="run real nodes, and take the costs from two of them")
    simulated.add_argument("--rounds", type=natural(1), default=5, help="of real runs (5)")
    simulated.add_argument("--latency", type=natural(0), help="between nodes, in nanoseconds (0: a loopback's)")
    simulated.add_argument("--processors", type=natural(1), help="of each node (1)")
    simulated.add_argument("--seed", type=natural(0), help="two runs with one seed are the same (1)")
    return parser.parse_args()


def print_progress(text):
    print(text, file=sys.stderr, flush=True)


def run(options):
    how = {n: getattr(options, n) for n in ("processors", "seed") if getattr(options, n) is not None}
    points = Charts(options.quick, options.figures).points()
    document = {"figures": options.figures, "quick": options.quick, "costs": how, "latency": options.latency}
    document |= {"real": {}, "predicted": {}}
    if options.calibrate:
        several = calibration.TWO + calibration.OPEN
        real = measure(options.bin, calibration.ALONE + several, options.rounds, 0.5, print_progress)
        document["costs"] = how | calibration.fit(options.bin, real, print_progress)
        simulated = [calibration.simulated(p) for p in several]
        predicted = simulate(options.bin, simulated, document["costs"], print_progress)
        document |= {"real": real, "predicted": dict(zip(several, predicted.values()))}
    costs = document["costs"] | ({} if options.latency is None else {"latency": options.latency})
    document["points"] = simulate(options.bin, points, costs, print_progress)
    (options.out / "cluster.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def report_of(options):
    document = json.loads(options.json.read_text(encoding="utf-8"))
    asked = Charts(document["quick"], document["figures"])
    if not set(asked.points()) <= set(document["points"]):
        raise Failure(f"{options.json} lacks points that the charts have by now: simulate again")
    charts = asked.all
    if options.markdown:
        print(sheets.markdown(document, charts), end="")
        return
    text = sheets.text(document, charts)
    print(text, end="")
    (options.json.parent / "report.txt").write_text(text, encoding="utf-8")
    try:
        import drawing  # pylint: disable=import-outside-toplevel
    except ModuleNotFoundError as missing:
        print(f"bench: no charts, because Python lacks {missing.name} (Debian: python3-matplotlib)", file=sys.stderr)
        return
    for chart in charts:
        drawing.draw(options.json.parent / f"{chart.name}.svg", chart, document["points"], document["real"])


def main():
    options = parse_arguments()
    try:
        if options.command == "report":
            report_of(options)
        else:
            run(options)
    except Failure as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
