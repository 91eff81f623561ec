#!/usr/bin/env bash
# aggregates.sh <wrapper> <c or c++>: the wrapper refuses structures that GCC copies without barriers, at every
# optimization level, and accepts the alternatives. Its check does not affect any of the compiler's modes.
set -euo pipefail
wrapper=$1 language=$2
work=$(mktemp -d --tmpdir "language.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    printf 'aggregates.sh: %s\n' "$*"
    exit 1
}

suffix=c
[[ $language == c ]] || suffix=cpp

# The wrapper refuses every line that ends with "// refused", and no other line.
cat >"refused.$suffix" <<'END'
struct word { long first; };
struct pair { long first, second; };
struct triple { long first, second, third; };
extern struct word kept_word;
extern struct pair kept_pair, table[8];
extern struct triple kept_triple, *pointed;
struct holder { int kind; struct triple inner; };
extern struct holder* held;
extern long count, other;
#define SAFE __attribute__((transaction_safe, noinline))
#define PURE __attribute__((transaction_pure))
SAFE struct word make_word(long);
PURE struct pair pure_pair(long);
SAFE static struct pair make_pair_of(long of) { struct pair made = {of, of}; return made; }
SAFE static struct triple make_triple(long of) { struct triple made = {of, of, of}; return made; }
SAFE struct triple add_one(struct triple);
SAFE long sum(long, struct pair);
SAFE void fill(struct pair*);
SAFE __attribute__((nothrow)) struct pair elsewhere(long);
typedef struct triple (*maker)(long) __attribute__((transaction_safe));
extern maker by_pointer;

void results(int at) {
    __transaction_atomic {
        kept_word = make_word(1);           // refused
        kept_pair = make_pair_of(2);        // refused
        table[at] = make_pair_of(3);        // refused
        kept_pair = pure_pair(4);           // refused
        kept_triple = make_triple(at);      // refused
        *pointed = make_triple(6);          // refused
        held->inner = make_triple(7);       // refused
        kept_triple = by_pointer(8);        // refused
    }
    kept_triple = make_triple(9);
}

SAFE void inside_a_function(int at) {
    kept_triple = make_triple(at);          // refused
    __transaction_atomic {
        count++;
        kept_pair = make_pair_of(at);       // refused
    }
}

long arguments(int at) {
    long total = 0;
    __transaction_relaxed {
        total += sum(1, kept_pair);         // refused
        total += sum(2, table[at]);         // refused
        struct triple more = add_one(held->inner);  // refused
        total += more.first;
        struct pair local = table[at];
        int gap = 0;
        total += gap + sum(3, local);
    }
    return total + sum(4, kept_pair);
}

void in_a_switch(int at) {
    __transaction_atomic {
        switch (at) {
            case 1: kept_triple = make_triple(1); break;  // refused
            case 2: count++; break;
            case 3: kept_pair = pure_pair(3); break;      // refused
            case 9: other++; break;
            default: count--;
        }
    }
}

void passed_over(int cancels) {
    __transaction_atomic {
        struct pair local;
        local = elsewhere(1);               // refused
        count = other;
        fill(&local);
        if (cancels) __transaction_cancel;
    }
}
END
grep -n '// refused' "refused.$suffix" | cut -d: -f1 >expected
first=$(head -n 1 expected)
for level in 0 1 2 3; do
    status=0
    "$wrapper" "-O$level" -c "refused.$suffix" >log 2>&1 || status=$?
    [[ $status == 1 && ! -e refused.o ]] || fail "-O$level: status $status, $(ls)"
    sed -nE "s/^refused\.$suffix:([0-9]+):[0-9]+: error: in a transaction, .*/\1/p" log | sort -nu >found
    diff expected found || fail "-O$level: not what has to be refused (<): $(cat log)"
done

# The alternatives have barriers.
cat >"taken.$suffix" <<'END'
#include <pthread.h>
struct pair { long first, second; };
struct triple { long first, second, third; };
static struct pair kept_pair = {1, 1};
static struct triple kept_triple = {1, 1, 1};
static long count;
static volatile int cancel = 1;
#define SAFE __attribute__((transaction_safe, noinline))
SAFE static struct pair make_pair_of(long of) { struct pair made = {of, of}; return made; }
SAFE static struct triple make_triple(long of) { struct triple made = {of, of, of}; return made; }
SAFE static struct triple add_one(struct triple to) { ++to.first, ++to.second, ++to.third; return to; }

static void* add(void* unused) {
    for (int i = 0; i != 20000; ++i) __transaction_atomic {
            struct triple before = kept_triple;
            struct triple after = add_one(before);
            int gap = 0;
            kept_triple = after;
            count += 1 + gap;
        }
    return unused;
}

int main(void) {
    const int cancels = cancel;
    __transaction_atomic {
        struct pair two = make_pair_of(7);
        int gap = 0;
        kept_pair = two;
        struct triple three = make_triple(7);
        gap = 1;
        kept_triple = three;
        count += gap;
        if (cancels) __transaction_cancel;
    }
    if (kept_pair.second != 1 || kept_triple.third != 1 || count != 0) return 1;
    pthread_t threads[3];
    for (int i = 0; i != 3; ++i) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i != 3; ++i) pthread_join(threads[i], 0);
    return kept_triple.first == 60001 && kept_triple.third == 60001 && count == 60000 ? 0 : 2;
}
END
for level in 0 1 2 3; do
    "$wrapper" "-O$level" "taken.$suffix" -o taken 2>log || fail "-O$level: $(cat log)"
    for hardware in auto off; do
        TUTTI_HARDWARE=$hardware ./taken || fail "-O$level: the program says $?"
    done
done

# --aggregates=warn only warns.
"$wrapper" --aggregates=warn -c "refused.$suffix" -o warned.o 2>log || fail "--aggregates=warn: $(cat log)"
grep -q ': warning: in a transaction' log || fail "--aggregates=warn: $(cat log)"
[[ -e warned.o ]] || fail "--aggregates=warn left no object"

# The compiler works as usual: file names with blanks, several files, all of its outputs, and parallel compilers.
mkdir "a folder"
cp "refused.$suffix" "a folder/re fused.$suffix"
printf 'long one;\nvoid first(void) { __transaction_atomic { ++one; } }\n' >"one.$suffix"
printf 'long two;\nvoid second(void) { __transaction_atomic { ++two; } }\n' >"two.$suffix"
for flags in "-c" "-c -pipe" "-c -save-temps" "-c -flto -ffat-lto-objects" "-S" "-c -fdump-tree-optimized" "-c -g -MD"; do
    # shellcheck disable=SC2086  # words
    status=0 && "$wrapper" $flags -O1 "one.$suffix" "a folder/re fused.$suffix" "two.$suffix" >log 2>&1 || status=$?
    grep -q "re fused.$suffix:$first:.* error: in a transaction" log || fail "$flags: $(cat log)"
    [[ $status == 1 ]] || fail "$flags: status $status"
    [[ ! -e 're fused.o' && ! -e 're fused.s' ]] || [[ $flags == *save-temps* ]] || fail "$flags left its output: $(ls)"
    rm -f ./*.o ./*.s ./*.optimized ./*.d
done
# Not through a pipe: the reader would end first.
"$wrapper" -E "refused.$suffix" >log
grep -q make_triple log || fail "-E printed nothing"
"$wrapper" -S -o - "one.$suffix" >log
grep -q _ITM_beginTransaction log || fail "-S -o - printed nothing"
"$wrapper" -x "$language" -c - -o "a folder/read.o" <"one.$suffix"
[[ -e "a folder/read.o" ]] || fail "nothing compiled from the standard input"
for ((i = 0; i != 6; ++i)); do
    { "$wrapper" -c "refused.$suffix" -o "beside$i.o" >"beside$i.log" 2>&1 || true; } &
done
wait
for ((i = 0; i != 6; ++i)); do
    [[ $(grep -c ': error: in a transaction' "beside$i.log") == $(grep -c ': error: in a transaction' beside0.log) && ! -e beside$i.o ]] ||
        fail "beside others: $(cat "beside$i.log")"
done
grep -q ': error: in a transaction' beside0.log || fail "beside others: no error"

# The wrappers compile without link-time optimization, so the check happens then.
"$wrapper" -O2 -flto "taken.$suffix" -o taken 2>log || fail "-flto: $(cat log)"
./taken || fail "-flto: the program says $?"
cat >>"taken.$suffix" <<'END'
void wrong(void) {
    __transaction_atomic { kept_triple = make_triple(2); }
}
END
status=0
"$wrapper" -O2 -flto=2 -c "taken.$suffix" -o taken.o 2>log || status=$?
grep -q 'error: in a transaction' log || fail "-flto -c: $(cat log)"
[[ $status != 0 && ! -e taken.o ]] || fail "-flto -c: status $status, $(ls)"
