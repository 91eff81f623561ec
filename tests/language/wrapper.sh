#!/usr/bin/env bash
# wrapper.sh <wrapper> <c or c++>: programs of the compiler wrapper run on Tutti's runtime, and it names options that it
# cannot use.
set -euo pipefail
wrapper=$1 language=$2
work=$(mktemp -d --tmpdir "language.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'wrapper.sh: %s\n' "$*"
    exit 1
}

cat >"$work/source" <<'END'
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
extern "C"
#endif
const char *_ITM_libraryVersion(void);
static long count;
int main(void) {
    __transaction_atomic { ++count; }
    puts(_ITM_libraryVersion());
    return count == 1 ? 0 : 1;
}
END
"$wrapper" -x "$language" -O2 -D_FORTIFY_SOURCE=0 -c "$work/source" -o "$work/object.o"
"$wrapper" "$work/object.o" -o "$work/program"
version=$("$work/program")
[[ $version == Tutti* ]] || fail "the program runs on '$version'"

shown=$("$wrapper" --show -c "a file.c")
[[ $shown == *"-fgnu-tm"*"-c a file.c"* ]] || fail "--show printed '$shown'"

# Blocks and safe functions with the compiler's counters: a cancelled execution undoes its counts.
cat >"$work/counted" <<'END'
static long kept;
static volatile int last_cancelled = 6;
__attribute__((transaction_safe, noinline)) static void add(long by) { kept += by; }
int main(void) {
    for (int i = 0; i != 10; ++i) {
        const int cancels = i <= last_cancelled;
        __transaction_atomic {
            add(1);  // counted
            if (cancels) __transaction_cancel;
        }
    }
    return kept == 3 ? 0 : 1;
}
END
for level in 0 1 2 3; do
    find "$work" -name '*.gcda' -delete
    "$wrapper" -x "$language" "-O$level" -fprofile-generate="$work" "$work/counted" -o "$work/program"
    "$work/program" || fail "-fprofile-generate -O$level: the program says $?"
    (
        cd "$work"
        rm -f ./*.gcda
        "$wrapper" -x "$language" "-O$level" --coverage -c counted -o counted.o
        "$wrapper" --coverage counted.o -o program
        ./program
        gcov --stdout counted.o
    ) >"$work/counts" || fail "--coverage -O$level"
    grep -Eq '^ +3\*?: +[0-9]+: +add\(1\);' "$work/counts" || fail "--coverage -O$level: $(cat "$work/counts")"
done

# Link-time optimization would lose the clones of functions that are called through pointers.
cat >"$work/pointers" <<'END'
#include <pthread.h>
typedef void add_function(long) __attribute__((transaction_safe));
static long kept;
__attribute__((transaction_safe)) static void add(long by) { kept += by; }
add_function* volatile chosen = add;
static void* run(void* argument) {
    add_function* const f = chosen;
    __transaction_atomic { f(1); }
    return argument;
}
int main(void) {
    /* A second thread: the first one's blocks may run without barriers. */
    pthread_t second;
    run(0);
    if (pthread_create(&second, 0, run, 0) != 0 || pthread_join(second, 0) != 0) return 2;
    run(0);
    return kept == 3 ? 0 : 1;
}
END
"$wrapper" -x "$language" -O2 -flto "$work/pointers" -o "$work/program"
TUTTI_HARDWARE=off "$work/program" || fail "-flto: the program says $?"
shown=$("$wrapper" --show -flto a.o -o program)
[[ $shown != *-fno-lto* ]] || fail "a link got -fno-lto: '$shown'"

status=0
refusal=$(TUTTI_CC=/nonexistent/cc TUTTI_CXX=/nonexistent/cc "$wrapper" -c x.c 2>&1) || status=$?
[[ $status == 2 && $refusal == *"no compiler '/nonexistent/cc'"* ]] || fail "status $status, '$refusal'"
status=0
refusal=$(TUTTI_CC=true TUTTI_CXX=true "$wrapper" -c x.c 2>&1) || status=$?
[[ $status == 2 && $refusal == *"is not GCC"* ]] || fail "status $status, '$refusal'"
# Away from its library, the wrapper must not link the program with GCC's library.
cp "$wrapper" "$work/alone"
status=0
refusal=$("$work/alone" "$work/object.o" -o "$work/program" 2>&1) || status=$?
[[ $status == 2 && $refusal == *"no libitm.so"* ]] || fail "status $status, '$refusal'"

# In its pass tmmemopt GCC crashes depending on its memory layout, so a stand-in for GCC crashes there each time.
real=gcc
[[ $language == c ]] || real=g++
cat >"$work/failing" <<END
#!/bin/sh
case "\$*" in
    *--version* | *-fdisable-tree-tmmemopt*) exec $real "\$@" ;;
esac
echo 'during GIMPLE pass: tmmemopt' >&2
echo 'source:8:5: internal compiler error: Segmentation fault' >&2
exit 1
END
chmod +x "$work/failing"
TUTTI_CC=$work/failing TUTTI_CXX=$work/failing "$wrapper" -x "$language" -O2 -c "$work/source" -o "$work/again.o" \
    2>"$work/log" || fail "not compiled again: $(cat "$work/log")"
[[ -e $work/again.o && $(wc -l <"$work/log") == 1 ]] || fail "compiled again: $(cat "$work/log")"
grep -q 'note: GCC failed in its pass tmmemopt and was run again' "$work/log" || fail "compiled again: $(cat "$work/log")"

# The wrapper explains internal errors with a known cause.
# explains <text> <argument>...: the source on standard input fails to compile, and a note contains the text.
explains() {
    local text=$1
    shift
    if "$wrapper" -x "$language" -c - -o "$work/refused.o" "$@" 2>"$work/log"; then fail "GCC compiles: $*"; fi
    [[ $(tail -n 1 "$work/log") == *": note: GCC fails so at $text"* ]] || fail "explained by $(cat "$work/log")"
}
explains "-fsanitize=undefined in a file with atomic blocks" -fsanitize=undefined <<'END'
int values[4], at;
void set(void) {
    __transaction_atomic { values[at] = 1 / (at + 1); }
}
END
[[ $language == c ]] || explains "a catch of a type inside an atomic block" -O0 <<'END'
int caught;
__attribute__((transaction_safe)) void throws(int);
void call() {
    __transaction_atomic {
        try {
            throws(1);
        } catch (int what) {
            caught = what;
        }
    }
}
END
