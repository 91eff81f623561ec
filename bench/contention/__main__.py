"""Measures the contention managers: the programs after STAMP under each of them, and Swarm's deadlines."""

import argparse
import contextlib
import json
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent / "report"))

import campaign  # pylint: disable=wrong-import-position
import deadlines  # pylint: disable=wrong-import-position
import lengths  # pylint: disable=wrong-import-position
import policies  # pylint: disable=wrong-import-position
import stamp  # pylint: disable=wrong-import-position
import swarm  # pylint: disable=wrong-import-position
from console import Console  # pylint: disable=wrong-import-position
from programs import Failure  # pylint: disable=wrong-import-position

# The measured modules and the report of each kind.
KINDS = {"policies": ([stamp], policies.Report), "deadlines": ([swarm, lengths], deadlines.Report)}

# What implements giving way in guests: see docs/kernel.md.
GUESTS = ["module", "scheduler"]


def names(text):
    return text.split(",")


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


def counts(text):
    return sorted({positive(part) for part in text.split(",")})


def parse():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="tables and charts of what was measured, beside it")
    report.add_argument("json", type=pathlib.Path)
    for kind in KINDS:
        command = commands.add_parser(kind, help=f"measures, and writes {kind}.json")
        command.add_argument("--bin", type=pathlib.Path, default="build/release/bin", help="where the programs are")
        command.add_argument("--out", type=pathlib.Path, required=True, help="folder for the figures")
        command.add_argument("--quick", action="store_true", help="less, for a first look")
        command.add_argument("--full", action="store_true", help="programs of the usual size; otherwise of a third")
        command.add_argument("--rounds", type=positive, help="runs of each case (3; quick: 1)")
        command.add_argument("--threads", type=counts, help="numbers of threads")
        command.add_argument("--policies", type=names)
        command.add_argument("--limit", type=seconds, default=20, help="seconds after which a run is stopped (20)")
        command.add_argument("--programs", type=names)
        command.add_argument("--guest", choices=GUESTS, help="measure in a guest of QEMU that counts instructions")
        if kind == "deadlines":
            command.add_argument("--modes", type=names)
            command.add_argument("--seconds", type=seconds, help="length of a run (5; quick: 1)")
    return parser.parse_args()


def measure_cases(options, modules, context):
    cases = [case for module in modules for case in module.cases(options, context)]
    runners = {module.Case: module.runner(options, context) for module in modules}
    rounds = options.rounds or (1 if options.quick else 3)
    path = options.out / f"{options.command}.json"

    def save(runs):
        document = {"kind": options.command, "context": context, "runs": runs}
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    campaign.measure(cases, lambda case: runners[type(case)](case), rounds, save)


def measure(options):
    modules, _ = KINDS[options.command]
    if options.guest is None:
        options.console = None
        measure_cases(options, modules, {"processors": os.cpu_count()})
        return
    programs = [(options.bin / name).resolve() for name in ("tutti-stamp", "tutti-swarm")]
    with contextlib.closing(Console([FOLDER / "guest.sh", options.guest, *programs])) as options.console:
        # Lengths are measured only without other load, which a guest does not ensure.
        modules = [module for module in modules if module is not lengths]
        measure_cases(options, modules, {"processors": 1, "guest": options.guest})


def print_results(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    report = KINDS[document["kind"]][1](document)
    text = report.text()
    print(text, end="")
    (path.parent / "report.txt").write_text(text, encoding="utf-8")
    try:
        import drawing  # pylint: disable=import-outside-toplevel
    except ModuleNotFoundError as missing:
        print(f"bench: no charts, because Python lacks {missing.name} (Debian: python3-matplotlib)", file=sys.stderr)
        return
    report.draw(drawing, path.parent)


def main():
    options = parse()
    try:
        if options.command == "report":
            print_results(options.json)
        else:
            measure(options)
    except Failure as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
