"""What the generators measured, put together and shown."""

import sys

LENGTHS = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def percentile(lengths, q):
    """Of pairs of a length and how often it occurs."""
    rank = max(1, round(q * sum(count for _, count in lengths)))
    seen = 0
    for length, count in sorted(lengths):
        seen += count
        if seen >= rank:
            return length
    return 0.0


def combine(results):
    """One table of what several processes measured, in however many rounds: by priority."""
    table = {}
    for profiles in zip(*(r["profiles"] for r in results)):
        answered = sum(p["answered"] for p in profiles)
        lengths = [pair for p in profiles for pair in p["turnarounds"]]
        # The server counts for all processes. Each of them has the same counts, so the ratio stays correct.
        attempts = sum(p["executions"] + p["restarts"] for p in profiles)
        table[profiles[0]["priority"]] = {
            "name": profiles[0]["name"],
            "answered": answered,
            "refused": sum(p["refused"] for p in profiles),
            "mean": sum(p["mean"] * p["answered"] for p in profiles) / answered if answered else 0,
            "aborts": sum(p["restarts"] for p in profiles) / attempts if attempts else 0,
            **{key: percentile(lengths, q) for key, q in LENGTHS.items()},
        }
    return dict(sorted(table.items()))


def show(title, tables, throughput, lost):
    """`tables` by server, the baseline's first; `lost`: the shares of lost_time.py, and how often a call was interrupted."""
    print(f"\n{title}; turnarounds in microseconds")
    columns = ("mean", *LENGTHS)
    middle = "".join(f"{c:>10}" for c in columns)
    print(f"{'priority':<16}{'server':<16}{middle}{'aborts':>9}{'calls':>8}{'mean':>8}")
    base = tables["baseline"]
    for priority in reversed(base):
        for name, table in tables.items():
            row = table[priority]
            label = f"{priority} {row['name']}" if name == "baseline" else ""
            ratio = f"{100 * (row['mean'] / base[priority]['mean'] - 1):+7.1f}%" if base[priority]["mean"] else ""
            print(
                f"{label:<16}{name:<16}" + "".join(f"{row[c]:>10.0f}" for c in columns)
                + f"{100 * row['aborts']:>8.2f}%{row['answered']:>8}{ratio if name != 'baseline' else '':>8}"
            )
    for name, calls in throughput.items():
        print(
            f"throughput, {name}: {calls:.0f} calls a second, {calls / throughput['baseline']:.3f} of the baseline's; "
            f"the host stole {100 * lost[name]['stolen']:.1f} % of the processors, "
            f"workers waited for theirs {100 * lost[name]['workers']:.1f} % of the time, "
            f"I/O threads {100 * lost[name]['readers']:.1f} %; "
            f"{1000 * lost[name]['interruptions']:.2f} interruptions for 1,000 calls, "
            f"{1000 * lost[name]['signals']:.2f} signals"
        )
    refused = sum(row["refused"] for table in tables.values() for row in table.values())
    if refused:
        print(f"{refused} calls were refused, and are in no figure")
    sys.stdout.flush()
