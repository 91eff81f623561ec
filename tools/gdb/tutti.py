"""What gdb shows of programs that use Tutti: variables and containers by what they hold, and the command
`tutti transactions`. gdb loads it with libtutti where it was installed under /usr; elsewhere `source tutti.py`.

Nothing here runs code of the program, so core files will do, and a process that hangs. The command needs no debug
information of the library: it reads the table `tutti_debug_layout` (src/api/report/debug_layout.cpp). The printers need that of
the program, and read memory directly: a variable that a transaction is writing is marked."""

import re
import struct

import gdb
import gdb.printing

# --- memory, by address


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def read_number(address, size=8, signed=False):
    return int.from_bytes(read(address, size), "little", signed=signed)


def read_text(address):
    return gdb.Value(address).cast(gdb.lookup_type("char").const().pointer()).string(errors="replace") if address else ""


# --- tutti transactions

STATES = ["idle", "active", "visible", "irrevocable", "preparing", "committed", "aborting"]

LAYOUT = [
    "directory", "status_record", "state", "kill_request", "frame", "rank", "age", "suspended", "waits_for", "in_retry",
    "thread", "attempt", "defeats", "slot", "place", "options", "slot_file", "slot_line", "options_name"
]  # in the order of the table


def layout():
    try:
        table = int(gdb.parse_and_eval("(unsigned long)&tutti_debug_layout"))
    except gdb.error as error:
        raise gdb.GdbError("libtutti is not loaded, or older than this script: " + str(error)) from error
    version = read_number(table, 4)
    if version != 1:
        raise gdb.GdbError("this script reads version 1 of tutti_debug_layout, and libtutti has version %d" % version)
    return dict(zip(LAYOUT, struct.unpack("<%dQ" % len(LAYOUT), read(table + 8, 8 * len(LAYOUT)))))


def descriptors(at):
    chunks, count, bits = struct.unpack("<3Q", read(at["directory"], 24))
    for number in range(read_number(count, 4)):
        chunk = read_number(chunks + 8 * (number >> bits))
        yield number, read_number(chunk + 8 * (number & ((1 << bits) - 1))) - at["status_record"]


def block_of(d, at):
    """The name of the block that the descriptor runs, or its place in the source."""
    options = read_number(d + at["options"])
    name = read_text(read_number(options + at["options_name"])) if options else ""
    slot = read_number(d + at["slot"])
    file, line = (read_number(slot + at["slot_file"]), read_number(slot + at["slot_line"], 4)) if slot else (0, 0)
    place = read_number(d + at["place"])  # a std::source_location of libstdc++: {file, function, line, column}
    if not file and place:
        file, line = read_number(place), read_number(place + 16, 4)
    where = "%s:%d" % (read_text(file).rsplit("/", 1)[-1], line) if file else "?"
    return "%s (%s)" % (name, where) if name else where


def thread_names():
    """How gdb calls the threads, by the kernel's number."""
    return {t.ptid[1] or t.ptid[2]: "%d" % t.num for t in gdb.selected_inferior().threads()}


class Tutti(gdb.Command):
    """Commands for programs that use Tutti."""

    def __init__(self):
        super().__init__("tutti", gdb.COMMAND_STATUS, prefix=True)


class Transactions(gdb.Command):
    """tutti transactions [all]: what each context is doing.
Those that run a block, wait or sleep in retry; with "all" also the idle ones. `age`: the smaller is the older, of those
that were in a conflict."""

    def __init__(self):
        super().__init__("tutti transactions", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        at = layout()
        numbers = {}
        known = list(descriptors(at))
        for number, d in known:
            numbers[d] = number
        names = thread_names()
        row = "%8s %7s  %-32s %8s %8s %8s  %-12s %s"
        print(row % ("context", "thread", "state", "attempt", "defeats", "age", "waits for", "block"))
        for number, d in known:
            state = read_number(d + at["state"])
            says = STATES[state & 15]
            other = read_number(d + at["waits_for"])
            asleep = read_number(d + at["in_retry"], 1) != 0
            if says == "idle" and not other and not asleep and argument != "all":
                continue
            if asleep:
                says = "retry"
            elif says != "idle" and read_number(d + at["kill_request"]) == state >> 4:
                says += ", asked to abort"
            if read_number(d + at["suspended"], 4):
                says += ", suspended"
            thread = read_number(d + at["thread"], 4, True)
            print(row % (number, names.get(thread, thread or "-"), says, read_number(d + at["attempt"], 4),
                         read_number(d + at["defeats"], 4), read_number(d + at["age"]) or "-",
                         "context %s" % numbers.get(other, "?") if other else "-", block_of(d, at)))


Tutti()
Transactions()

# --- printers

LOCKED, MARKED = 1 << 63, 3 << 62


def word_of(shared):
    return int(shared["value_"]["_M_i"])


def variable_value(var):
    """What a tutti::var holds: the word as its type, or what the word points to."""
    kind = var.type.strip_typedefs().template_argument(0)
    word = var["cell_"]["value"]["value_"]
    try:
        node = gdb.lookup_type(str(var.type.strip_typedefs().unqualified()) + "::node")
    except gdb.error:
        return word.address.cast(kind.pointer()).dereference()
    return word.address.cast(node.pointer().pointer()).dereference()["value"]


class Variable:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        held = variable_value(self.value)
        orec = word_of(self.value["cell_"]["orec"])
        text = held.format_string()
        if LOCKED <= orec < MARKED:
            text += " (being written by context %d)" % (orec >> 32 & (1 << 30) - 1)
        return text


def elements_of_tree(node, tree):
    """The elements below a node of element_tree, in order."""
    if not int(node):
        return
    size = int(node["size"])
    kind = "leaf" if node["is_leaf"] else "inner"
    whole = node.cast(gdb.lookup_type("%s::%s" % (tree, kind)).pointer())
    for i in range(size):
        if kind == "leaf":
            yield whole["slots"]["_M_elems"][i]["where"].dereference()
        else:
            yield from elements_of_tree(variable_value(whole["children"]["_M_elems"][i]), tree)


def slots_of_array(array):
    """The slots of a slot_array that have been made, with their numbers."""
    first = 0
    for r in range(48):
        row = array["rows_"]["_M_elems"][r]["_M_b"]["_M_p"]
        for c in range(1 << r):
            if not int(row):
                break
            chunk = row[c]["_M_b"]["_M_p"]
            for i in range(128 if int(chunk) else 0):
                yield first + 128 * c + i, chunk[i]
        else:
            first += 128 << r
            continue
        return


class Container:
    """A printer of a range of values; `hint` is gdb's display hint."""

    def __init__(self, value):
        self.value = value

    def name(self):
        return str(self.value.type.strip_typedefs().unqualified())

    def to_string(self):
        return self.name()

    def children(self):
        for number, value in enumerate(self.values()):
            yield "[%d]" % number, value

    def display_hint(self):
        return "array"


class Map(Container):

    def children(self):
        for number, (key, value) in enumerate(self.pairs()):
            yield "[%d]" % (2 * number), key
            yield "[%d]" % (2 * number + 1), value

    def display_hint(self):
        return "map"


class OrderedMap(Map):

    def pairs(self):
        tree = self.value["tree_"]
        for e in elements_of_tree(variable_value(tree["root_"]), str(tree.type.strip_typedefs().unqualified())):
            yield e["key"], variable_value(e["value"])


class OrderedSet(Container):

    def values(self):
        tree = self.value["tree_"]
        for e in elements_of_tree(variable_value(tree["root_"]), str(tree.type.strip_typedefs().unqualified())):
            yield e["key"]


def nodes_of_hash_map(value):
    node = gdb.lookup_type(str(value.type.strip_typedefs().unqualified()) + "::node").pointer()
    for _, bucket in slots_of_array(value["buckets_"]):
        word = int(variable_value(bucket["head"]))
        while word and not word & 1:
            n = gdb.Value(word).cast(node).dereference()
            yield n
            word = int(variable_value(n["next"]))


class HashMap(Map):

    def pairs(self):
        for n in nodes_of_hash_map(self.value):
            yield n["key"], variable_value(n["value"])


class HashSet(Container):

    def values(self):
        for n in nodes_of_hash_map(self.value["keys_"]):
            yield n["key"]


class Vector(Container):

    def values(self):
        kind = self.value.type.strip_typedefs().template_argument(0)
        size = int(variable_value(self.value["size_"]))
        for number, slot in slots_of_array(self.value["slots_"]):
            if number >= size:
                return
            held = variable_value(slot["value"])
            yield (held if held.type.code == gdb.TYPE_CODE_PTR and kind.code != gdb.TYPE_CODE_PTR else
                   held.address.cast(kind.pointer())).dereference()


class Queue(Container):

    def values(self):
        node = variable_value(self.value["oldest_"])
        while int(node):
            yield node["value"]
            node = variable_value(node["next"])


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tutti")
    for name, printer in [("var", Variable), ("ordered_map", OrderedMap), ("ordered_set", OrderedSet),
                          ("hash_map", HashMap), ("hash_set", HashSet), ("vector", Vector), ("queue", Queue)]:
        collection.add_printer(name, "^tutti::%s<.*>$" % name, printer)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
