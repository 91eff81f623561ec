# aggregates.awk: finds the structures that GCC copies without barriers, in the dumps of its pass tmmark.
#
#   awk -v name=tutti-cc -v severity=error -f aggregates.awk < dumps
#
# The dumps are the combined output of -fdump-tree-tmmark-lineno-gimple and -fdump-tree-tmedge. For each function the
# second pass follows the first. Only the heading of the second pass is read, because it contains the clone's name.
#
# The severity is error or warning. An error makes the exit status 1.
#
# The pass puts barriers into blocks and clones. The pass has three faults with structures that calls take or return:
#
#   argument  f (g)          reads the shared structure g without a barrier
#   result    g = f (...)    stores without a barrier in four cases: f has no clone, f was found to be a const function,
#                            f is called by a pointer, or f returns the structure in registers although a return slot is
#                            requested
#   next      g = f (...)    in other cases becomes "temporary = f (...)" and a barrier that copies it; the pass then
#                            skips the next statement, which loses its barrier if it needs one
#
# The dump does not always show which of the last two faults a call has, so every result that goes to shared memory is
# refused. The line "tutti-status N" ends the input; N is the compiler's exit status. This program exits with N, or with
# 1 after an error.

BEGIN {
    place = "\\[[^][]*:[0-9]+:[0-9]+( discrim [0-9]+)?\\] "
    reset()
}

function reset() {
    split("", text); split("", count); split("", successors); split("", is_local); split("", made); split("", tests)
    split("", depth); split("", order); split("", labelled)
    blocks = 0
    block = ""
}

/^tutti-status [0-9]+$/ { status = $2; next }

# A declaration may have an unnamed union, whose braces also stand at the start of lines.
inside && block == "" && /^\{$/ { ++nested; next }
nested > 0 && /^\}/ { if (--nested == 0) declaration($0); next }
nested > 0 { next }
/^;; Function / {
    if (waits) examine(/ \([^ ]*_ZGTt/)
    waits = 0
    passing = 1
    next
}
/__GIMPLE \(/ { passing = 0 }
passing { next }
!inside && /^\{$/ { reset(); inside = 1; parameters(head); next }
inside && /^\}$/ { inside = 0; waits = 1; next }
!inside { head = $0; next }

/^  __BB\(/ {
    block = $0
    sub(/^  __BB\(/, "", block)
    sub(/[,)].*/, "", block)
    order[++blocks] = block
    next
}

block == "" { declaration($0); next }
/^ *(#|$)/ { next }

# The compiler of the linker (LTO) uses other names for the runtime's functions and the clones.
/_ITM_|transaction clone for / {
    gsub(/__builtin__ITM_/, "_ITM_")
    gsub(/transaction clone for /, "")
}

{
    line = $0
    while (match(line, /goto __BB[0-9]+/)) {
        successors[block] = successors[block] " " substr(line, RSTART + 9, RLENGTH - 9)
        line = substr(line, RSTART + RLENGTH)
    }
    if ($0 ~ /^ *(\[[^]]*\] )?switch \(/)
        while (match(line, /: L[0-9]+;/)) {
            successors[block] = successors[block] " " substr(line, RSTART + 2, RLENGTH - 3)
            line = substr(line, RSTART + RLENGTH)
        }
    else if ($0 ~ /^(\[[^]]*\] )?L[0-9]+:/) {
        sub(/:$/, "", line)
        sub(/.* /, "", line)
        labelled[line] = block
    }
    text[block, ++count[block]] = $0
}

# declaration("  struct P x = ...;"): x lives in this function.
function declaration(line) {
    if (line ~ /^ *static /) return
    sub(/ = .*/, "", line)
    sub(/(\[[^]]*\])+;?$/, "", line)
    sub(/;$/, "", line)
    sub(/.*[ *&]/, "", line)
    is_local[line] = 1
}

# parameters("struct P f (struct P p, int i)"): p and i also live in this function.
function parameters(head,   n, i, list) {
    n = split(head, list, /[,()]/)
    for (i = 1; i <= n; ++i) {
        sub(/ *$/, "", list[i])
        sub(/.*[ *&]/, "", list[i])
        if (list[i] != "") is_local[list[i]] = 1
    }
}

# Returns true if a name is that of a register (SSA) of this function.
function is_register(name) {
    if (name ~ /_[0-9]+\(D\)$/) return 1
    if (name !~ /_[0-9]+$/) return 0
    sub(/_[0-9]+$/, "", name)
    return name == "" || name in is_local
}

# Returns true if a register holds the address of this function's result: it has an initial value and is no parameter.
function is_result(name) {
    return sub(/_[0-9]+\(D\)$/, "", name) && (name == "" || !(name in is_local))
}

# Returns true if an operand is memory that other threads can see.
function is_shared(operand,   base) {
    if (operand ~ /^[-+&"'(0-9{]/ || operand ~ /^_Literal/ || operand ~ /<retval>/ || operand == "") return 0
    # The target of a pointer is not shared if it is a local variable, or memory that this function has allocated.
    if (operand ~ /^__MEM/) {
        if (match(operand, /\(&[A-Za-z_$][A-Za-z0-9_$.]*/)) {
            base = substr(operand, RSTART + 2, RLENGTH - 2)
            sub(/\..*/, "", base)
            return !(base in is_local)
        }
        if (match(operand, /[A-Za-z_0-9.$]*_[0-9]+(\(D\))?/)) base = substr(operand, RSTART, RLENGTH)
        return !(base in made) && !is_result(base)
    }
    sub(/^\*/, "", operand)
    if (match(operand, /->/)) {
        base = substr(operand, 1, RSTART - 1)
        return !(base in made) && !is_result(base)
    }
    base = operand
    if (base in is_local || is_register(base)) return 0
    sub(/[.\[].*/, "", base)
    return !(base in is_local)
}

# Sets `where` to the place in the line, and returns the statement without places.
function statement(line) {
    where = ""
    if (match(line, place)) where = substr(line, RSTART + 1, RLENGTH - 3)
    sub(/ discrim [0-9]+$/, "", where)
    gsub(place, "", line)
    sub(/^ +/, "", line)
    return line
}

# Splits "x = f (a, b); [flags]" into target, callee, arguments and flags. Returns false if the line is not a call.
function is_call(line,   at) {
    target = callee = arguments = flags = ""
    at = index(line, " = ")
    if (at && index(substr(line, 1, at), "\"") == 0) {
        target = substr(line, 1, at - 1)
        line = substr(line, at + 3)
    }
    if (line !~ /\); *(\[.*\])?$/ || line ~ /^[-+&"'(0-9{~!]/ || line ~ /^(if|switch|return|goto|_Literal)[ (]/ ||
        line ~ /^__(PHI|MEM|VIEW|BIT|ABS|MAX|MIN|ROT)[A-Z_]*[ (]/)
        return 0
    if (match(line, /\); *\[[^]]*\]( *\[[^]]*\])*$/)) {
        flags = substr(line, RSTART)
        line = substr(line, 1, RSTART) ";"
    }
    at = opening(line)
    if (!at) return 0
    callee = substr(line, 1, at - 1)
    arguments = substr(line, at + 2, length(line) - at - 3)
    return 1
}

# Returns where the arguments begin. C++ names may contain parentheses and blanks.
function opening(line,   i, c, level) {
    if (line !~ /^[^ ]*[<(]/) return index(line, " (")
    while (match(line, /operator(<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>|\(\))/))
        line = substr(line, 1, RSTART - 1) substr("OPERATOR...", 1, RLENGTH) substr(line, RSTART + RLENGTH)
    level = 0
    for (i = 1; i <= length(line); ++i) {
        c = substr(line, i, 1)
        if (level == 0 && c == " " && substr(line, i + 1, 1) == "(") return i
        if (c == "(" || c == "<") ++level
        else if (c == ")" || c == ">") --level
    }
    return 0
}

# Returns the operand that is passed by value from shared memory, or "".
function shared_argument(list,   i, c, level, one, quoted) {
    if (list !~ /[A-Za-z]/) return ""
    level = 0
    one = ""
    quoted = 0
    list = list ","
    for (i = 1; i <= length(list); ++i) {
        c = substr(list, i, 1)
        if (c == "\\" && quoted) { one = one c substr(list, ++i, 1); continue }
        if (c == "\"") quoted = !quoted
        else if (!quoted && (c == "(" || c == "[" || c == "<")) ++level
        else if (!quoted && (c == ")" || c == "]" || (c == ">" && substr(list, i - 1, 1) != "-"))) --level
        if (c == "," && level == 0 && !quoted) {
            sub(/^ +/, "", one)
            if (is_shared(one)) return one
            one = ""
        } else one = one c
    }
    return ""
}

# Marks the blocks of the instrumented code that begin with `from`, `levels` transactions deep.
function walk(from, levels,   i, line, next_blocks, n) {
    if (from in labelled) from = labelled[from]
    if (from in depth) return
    depth[from] = levels
    for (i = 1; i <= count[from]; ++i) {
        line = text[from, i]
        if (line ~ /_ITM_beginTransaction /) ++levels
        else if (line ~ /_ITM_commitTransaction(EH)? / && --levels == 0) { last[from] = i; return }
        else if (line ~ /_ITM_changeTransactionMode /) { last[from] = i; return }
    }
    last[from] = count[from]
    n = split(successors[from], next_blocks, " ")
    # In the result of a begin, bit 2 selects the code without barriers, and bit 16 the way around the block.
    for (i = (from in tests) ? n : 1; i <= n; ++i) walk(next_blocks[i], levels)
}

# All blocks of a clone are instrumented code. In another function, only the blocks of its transactions are.
function examine(clone,   b, i, n, line, next_blocks) {
    split("", last); split("", whose); split("", from); split("", made_in)
    for (b = 1; b <= blocks; ++b)
        for (i = 1; i <= count[order[b]]; ++i) {
            line = statement(text[order[b], i])
            if (line ~ /= tm_state[^ ]* & (2|16)u?;/) tests[order[b]] = 1
            if (is_call(line) && callee ~ /^(_ITM_)?(malloc|calloc)$|^operator new/) made[target] = 1
        }
    if (clone) walk(order[1], 1)
    else
        for (b = 1; b <= blocks; ++b)
            for (i = 1; i <= count[order[b]]; ++i)
                if (text[order[b], i] ~ /_ITM_beginTransaction .*[ []instrumentedCode/) {
                    n = split(successors[order[b]], next_blocks, " ")
                    if (!(order[b] in depth)) for (; n > 0; --n) walk(next_blocks[n], 1)
                }
    # Handlers of exceptions are entered by edges that the dump does not show.
    for (b = 1; b <= blocks; ++b)
        if (!(order[b] in depth))
            for (i = 1; i <= count[order[b]]; ++i)
                if (text[order[b], i] ~ /\[tm-clone\]|_ITM_[RW]|_ITM_mem/) { walk(order[b], 1); break }
    for (b = 1; b <= blocks; ++b) if (order[b] in depth) examine_block(order[b])
}

function examine_block(b,   i, line, operand, copied) {
    for (i = 1; i <= last[b]; ++i) {
        line = statement(text[b, i])
        if (line == "" || line ~ /^#/) continue
        # A structure of the size of a word is copied as a word.
        if (match(line, /^_[0-9]+ = __VIEW_CONVERT <[^()]*>\(D[._][0-9]+\);/)) {
            operand = line
            sub(/ .*/, "", operand)
            copied = line
            sub(/.*\(/, "", copied)
            sub(/\).*/, "", copied)
            if (copied in whose) {
                whose[operand] = whose[copied]
                from[operand] = from[copied]
                made_in[operand] = made_in[copied]
            }
        }
        if (!is_call(line)) continue
        if (callee ~ /^_ITM_(mem(cpy|move)Rn|W)/) {
            # The second argument is the temporary that the pass has made, if the call before it was split.
            copied = operand = arguments
            sub(/^[^,]*, &?/, "", copied)
            sub(/,.*/, "", copied)
            sub(/,.*/, "", operand)
            if (!(copied in whose)) continue
            # The first argument is an address: that of a variable, or one in a pointer.
            if (sub(/^&/, "", operand) ? is_shared(operand) : !(operand in made)) refuse_result(from[copied], whose[copied])
            # If a call ends its block, the copy is in the next block, and the pass does not skip a statement.
            else if (made_in[copied] == b && skips(b, i + 1)) refuse_next(from[copied], whose[copied])
            continue
        }
        if (callee ~ /^_ITM_/) continue
        if (is_shared(target)) refuse_result(where, callee)
        operand = shared_argument(arguments)
        if (operand != "") refuse_argument(where, callee)
        if (target ~ /^D[._][0-9]+$/ && flags !~ /return slot/) {
            whose[target] = callee
            from[target] = where
            made_in[target] = b
        }
    }
}

# Returns true if the statement that the pass has skipped needed a barrier.
function skips(b, i,   line, at) {
    while (i <= last[b] && text[b, i] ~ /^ *#/) ++i
    if (i > last[b]) return 0
    line = statement(text[b, i])
    if (line ~ /_ITM_abortTransaction/) return 1
    if (is_call(line)) return is_shared(target)
    at = index(line, " = ")
    if (!at) return 0
    target = substr(line, 1, at - 1)
    line = substr(line, at + 3)
    sub(/;.*/, "", line)
    return is_shared(target) || (line ~ /^[A-Za-z_*]/ && line !~ / [-+*\/&|^<>=?]+ / && is_shared(line))
}

# Returns the name of the function in messages.
function called(what) {
    if (what ~ /_[0-9]+$|_ZGTt/) return "this call"
    sub(/\.(constprop|isra|part|localalias).*/, "", what)
    return "'" what "'"
}

function refuse_result(where, what) {
    complain(where, "the structure that " called(what) " returns is stored into shared memory without a barrier" \
        " (a fault of GCC); initialize a local variable with it, and copy that")
}

function refuse_argument(where, what) {
    complain(where, "the structure that " called(what) " takes by value is read from shared memory without a barrier" \
        " (a fault of GCC); copy it into a local variable, and pass that")
}

function refuse_next(where, what) {
    complain(where, "the statement behind this one has no barrier, because " called(what) " returns a structure" \
        " (a fault of GCC); initialize with it a local variable whose address is not taken, and at -O0 put 'int gap = 0;' behind that")
}

function complain(where, message) {
    if (where == "" || where ~ /^0:0/) where = name
    message = where ": " severity ": in a transaction, " message
    if (message in said) return
    said[message] = 1
    print message
    failed = 1
}

END { exit status ? status : failed && severity == "error" }
