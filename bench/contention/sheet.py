"""Tables as text: blocks of columns side by side, in each of them a column for each number of threads."""


def sheet(rows, threads, blocks, head="threads"):
    """`rows` are pairs of a label and a key; `blocks` pairs of a title and a function that makes the text of a cell, of
    a key and a number of threads, or whatever else `head` is. Returns lines."""
    head = [head, *(str(t) for t in threads)]
    names = [label for label, _ in rows]
    left = max(map(len, [head[0], *names]))
    lines = [" " * left, head[0].ljust(left), *(name.ljust(left) for name in names)]
    for title, text_of in blocks:
        columns = [[text_of(key, t) for _, key in rows] for t in threads]
        widths = [max(map(len, [str(t), *column])) for t, column in zip(threads, columns)]
        widths[0] += max(0, len(title) - sum(widths) - 2 * (len(widths) - 1))
        block = [title.ljust(sum(widths) + 2 * (len(widths) - 1))]
        for row in [head[1:], *zip(*columns)]:
            block.append("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
        lines = [f"{line}    {part}" for line, part in zip(lines, block)]
    return [line.rstrip() for line in lines]
