"""The families as text: a row for each workload and number of threads."""

# The unit of a family, and the engine with the lowest possible cost. Families that are not listed here get the last
# line.
STYLES = {
    "sets": ("rate", "sequential"),
    "bank": ("rate", "sequential"),
    "containers": ("rate", None),
    "counter": ("rate", None),
    "libc": ("rate", None),
    "scans": ("rate", None),
    "costs": ("time", "atomics"),
}
OTHERS = ("time", None)

# The pairs of engines that are compared.
PEERS = {
    "containers": [("tutti-hash", "std-unordered"), ("tutti-hash", "tbb"), ("tutti-ordered", "std-map")],
    "libc": [("tutti-libc", "irrevocable"), ("tutti-libc", "flockfile"), ("tutti-libc", "libitm")],
    "counter": [("tutti-counter", "tutti-var"), ("tutti-counter", "atomic")],
    "objects": [("tutti-objects", "tutti")],
    "scans": [
        ("tutti-snapshot", "tutti-logged"),
        ("tutti-snapshot", "tutti-visible"),
        ("tutti-snapshot", "mutex"),
        ("tutti-snapshot", "shared-mutex"),
    ],
}
PRODUCT = "tutti"
OTHER_PEER = "libitm"
LANGUAGE = "language"  # the peer's program on the product's runtime


def style(family):
    return STYLES.get(family.name, OTHERS)


def number(value):
    """Three digits, as far as they mean anything."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}" if 0 < value < 0.1 else f"{value:.2f}"


def factor(value):
    return f"{number(value)}x" if value is not None else ""


def subject_of(family):
    """The engine that the ratios are about: the product, the first of its variants, or its form in the language."""
    engines = family.engines()
    variants = (e for e in engines if e.startswith(PRODUCT))
    return PRODUCT if PRODUCT in engines else next(variants, LANGUAGE if LANGUAGE in engines else None)


def pairs_of(family, subject):
    """Who is compared with whom."""
    if family.name in PEERS:
        return PEERS[family.name]
    pairs = [(subject, OTHER_PEER), (LANGUAGE, OTHER_PEER), (LANGUAGE, PRODUCT)]
    return list(dict.fromkeys(pairs))


def ratios(family, subject, base):
    """The columns of ratios that there is anything for: title and function of (workload, threads)."""
    pairs = pairs_of(family, subject)

    def slowdown(workload, threads):
        # Sequential code has only one thread, and is compared only at one thread.
        return factor(family.ratio(workload, (base, threads), (subject, threads)))

    def over(engine, peer):
        return lambda workload, threads: factor(family.ratio(workload, (engine, threads), (peer, threads)))

    def crowded(engine):
        def of(workload, threads):
            return factor(family.ratio(workload, (engine, 8), (engine, 2))) if threads == 8 else ""

        return of

    def aborts(engine):
        def of(workload, threads):
            cell = family.cell(workload, engine, threads)
            return f"{cell.abort_percent:.1f}" if cell and cell.abort_percent is not None else ""

        return of

    columns = [(f"slower than {base}", slowdown)] if base else []
    columns += [(" ".join([e if e != subject else "", "over", p]).strip(), over(e, p)) for e, p in pairs]
    columns += [("8 by 2", crowded(subject))]
    columns += [(f"{p} 8 by 2", crowded(p)) for e, p in pairs if e == subject]
    columns += [("abort %", aborts(subject))]
    columns += [(f"{p} abort %", aborts(p)) for e, p in pairs if e == subject]
    keys = [(w, t) for w in family.workloads() for t in family.threads(w)]
    return [(title, of) for title, of in columns if any(of(w, t) for w, t in keys)]


def table(family):
    """Lines of text."""
    unit, base = style(family)
    engines = family.engines()
    subject = subject_of(family)
    columns = ratios(family, subject, base) if subject else []

    rows = [["", "threads"] + engines + [title for title, _ in columns]]
    for workload in family.workloads():
        for i, threads in enumerate(family.threads(workload)):
            row = [workload if i == 0 else "", str(threads)]
            for engine in engines:
                cell = family.cell(workload, engine, threads)
                value = None if cell is None else cell.rate / 1e6 if unit == "rate" else cell.time
                row.append(number(value))
            row += [of(workload, threads) for _, of in columns]
            rows.append(row)

    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    text = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        text.append("  ".join(cells).rstrip())
    return text


def rounds_of(family, context):
    count = family.rounds()
    kind = "best" if family.best() else "median"
    of = f"{kind} of {count} rounds" if count > 1 else "one round"
    return f"{of} of {context['round_ms']} ms"


def heading(family, context):
    """What the numbers are."""
    unit = "million operations a second" if style(family)[0] == "rate" else "nanoseconds an operation and thread"
    return f"{family.name}: {unit}, {rounds_of(family, context)}"


def trust(family):
    """How far the numbers can be trusted."""
    disturbed = family.disturbed()
    text = f"half of the cells spread by more than {100 * family.spread():.0f} % to either side; "
    text += f"others had {disturbed:.0f} % of the processors"
    text += ": too much to rely on" if disturbed > 20 else ""
    subject = subject_of(family)
    return text + (f"; ratios that name no other engine, and abort %, are those of {subject}" if subject else "")
