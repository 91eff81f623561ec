"""Tables: one for each panel, lines down and x across; and real nodes beside simulated ones."""

from figures import value

SAYS = "per_second", "median", "aborts", "round_trips", "messages", "bytes"
HEADS = "transactions/s", "median, us", "aborts", "round trips", "messages", "bytes"


def number(figure):
    if figure is None:
        return "-"
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def named(panel):
    return f"{panel.title}: {panel.up}" if panel.up else panel.title


def rows_of(panel, found):
    yield [panel.across, *map(str, panel.xs)]
    for line in panel.lines:
        yield [line.label, *(number(value(line, x, found, panel.value)) for x in panel.xs)]


def compared(document):
    """A row for each point: of each figure the real one, and the simulated one after it."""
    yield ["real nodes", *HEADS]
    for point, real in document["real"].items():
        simulated = document["predicted"].get(point)
        if simulated:
            yield [point, *(f"{number(real[s])} / {number(simulated[s])}" for s in SAYS)]


def plain(rows):
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]) for row in rows]
    return "".join(f"  {line.rstrip()}\n" for line in lines)


def marked(rows):
    rows = list(rows)
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def costs(document):
    latency = document["latency"]
    words = [f"{name} {ns}" for name, ns in document["costs"].items()] or ["as by default"]
    return f"costs: {', '.join(words)}; latency {'by default' if latency is None else f'{latency} ns'}"


def text(document, charts):
    stars = " In charts, stars are what real nodes did." if document["real"] else ""
    parts = [f"All points of tables are simulated, but for those that say real; {costs(document)}.{stars}\n"]
    for chart in charts:
        parts.append(f"\n{chart.title}{f': {chart.up}' if chart.up else ''}\n")
        parts += [f" {named(panel)}\n{plain(rows_of(panel, document['points']))}" for panel in chart.panels]
    if document["real"]:
        parts.append(f"\nReal / simulated\n{plain(compared(document))}")
    return "".join(parts)


def markdown(document, charts):
    parts = [f"Real / simulated; {costs(document)}.\n\n{marked(compared(document))}\n"] if document["real"] else []
    for chart in charts:
        for panel in chart.panels:
            parts.append(f"{chart.title}; {named(panel)}.\n\n{marked(rows_of(panel, document['points']))}\n")
    return "".join(parts)
