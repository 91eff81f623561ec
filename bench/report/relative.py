"""Families that compare ways to do the same: their rates as parts of that of one of them, over the number of steps.

A workload's name ends with the number of its steps: bank-few-5.
"""

import tables

BASE = {"nesting": "flat"}

# A way wins only by more than this, and by more than the rounds of the two differ.
MARGIN = 0.1


def applies(family):
    return BASE.get(family.name) in family.engines()


def split(workload):
    """bank-few-5 is 5 steps of the shape bank-few."""
    shape, _, steps = workload.rpartition("-")
    return shape, int(steps)


def shapes(family):
    return list(dict.fromkeys(split(w)[0] for w in family.workloads()))


def steps_of(family, shape):
    return sorted(split(w)[1] for w in family.workloads() if split(w)[0] == shape)


def others(family):
    return [e for e in family.engines() if e != BASE[family.name]]


def ratio(family, workload, engine, threads):
    return family.ratio(workload, (engine, threads), (BASE[family.name], threads))


def highest(family, shape):
    keys = [(f"{shape}-{n}", e, t) for n in steps_of(family, shape) for e in others(family) for t in family.threads()]
    return max([1, *(ratio(family, *key) or 0 for key in keys)])


def winners(family, workload, threads):
    """The best way and those within a twentieth of it. None if the base keeps up, or is the best and others keep up."""
    base = family.cell(workload, BASE[family.name], threads)
    cells = {e: family.cell(workload, e, threads) for e in others(family)}
    cells = {e: cell for e, cell in cells.items() if cell and base}
    if not cells:
        return []
    best = max(cells.values(), key=lambda cell: cell.rate)
    margin = 1 + max(MARGIN, base.spread + best.spread)
    if best.rate >= margin * base.rate:
        return [e for e, cell in cells.items() if cell.rate >= 0.95 * best.rate]
    return [BASE[family.name]] if base.rate >= margin * best.rate else []


def conclusion(family):
    """Where each way wins, in a line for each number of threads."""
    text = []
    for engine in family.engines():
        label = engine
        for threads in family.threads():
            won = []
            for shape in shapes(family):
                steps = [str(n) for n in steps_of(family, shape) if engine in winners(family, f"{shape}-{n}", threads)]
                won += [f"{shape} ({', '.join(steps)})"] if steps else []
            if won:
                text.append(f"  {label:10}  {threads} thread{'s' if threads > 1 else ''}: {', '.join(won)}")
                label = ""
    return ["where each wins (numbers of steps):", *text] if text else ["none wins anywhere"]


def row(family, workload, threads, label):
    def cells(what):
        return [what(family.cell(workload, e, threads)) for e in family.engines()]

    base = family.cell(workload, BASE[family.name], threads)
    text = [label, str(split(workload)[1]), tables.number(base.rate / 1e3 if base else None)]
    text += [tables.factor(ratio(family, workload, e, threads)) for e in others(family)]
    text += cells(lambda c: f"{c.restarts:.2f}" if c else "")
    text += cells(lambda c: f"{c.work:.2f}" if c else "")
    return text + [", ".join(winners(family, workload, threads))]


def table(family):
    """Lines of text."""
    engines = family.engines()
    base = BASE[family.name]
    head = ["", "steps", base] + others(family) + engines + engines + ["wins"]
    blocks = []
    for threads in family.threads():
        rows = []
        for shape in shapes(family):
            for i, steps in enumerate(steps_of(family, shape)):
                rows.append(row(family, f"{shape}-{steps}", threads, shape if i == 0 else ""))
        blocks.append((threads, rows))

    widths = [max(len(r[i]) for _, rows in blocks for r in [head, *rows]) for i in range(len(head))]

    def line(cells):
        padded = [cells[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(cells[1:-1], widths[1:-1])]
        return "  ".join(padded + [cells[-1]]).rstrip()

    def span(first, count, title):
        return title.ljust(sum(widths[first : first + count]) + 2 * count)

    count = len(engines)
    above = " " * (widths[0] + widths[1] + 4) + span(2, 1, "") + span(3, count - 1, f"by {base}")
    above += span(2 + count, count, "restarts a commit") + span(2 + 2 * count, count, "steps run by steps due")
    text = []
    for threads, rows in blocks:
        text += [f"{threads} thread{'s' if threads > 1 else ''}", above.rstrip(), *map(line, [head, *rows]), ""]
    return text + conclusion(family)


def heading(family, context):
    text = f"{family.name}: {BASE[family.name]} in thousand transactions a second, the others by it; "
    return text + tables.rounds_of(family, context)


def chart_heading(family, context):
    return f"{family.name}: transactions a second, {tables.rounds_of(family, context)}"
