// Blocks that run alone because of a call of the C library. reported.sh finds the lines by the word after "line:".
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../language/another_context.hpp"

namespace {

// clang-format off

long count = 0;
char words[] = "one two";

void another() { __transaction_atomic { ++count; } }

void flush(FILE* f) {
    for (int i = 0; i != 20; ++i) {
        __transaction_atomic {  // line: flush
            ++count;
            fputs("a line\n", f);
            fflush(f);  // line: fflush
        }
    }
}

void split() {
    for (int i = 0; i != 5; ++i) {
        __transaction_atomic {  // line: split
            if (strtok(words, " ") != nullptr) ++count;  // line: strtok
        }
    }
}

/// Only one of the calls exceeds the available room.
void print(FILE* f) {
    for (int i = 0; i != 100; ++i) {
        __transaction_atomic {  // line: print
            fprintf(f, "%0*d\n", i == 50 ? 5000 : 5, i);  // line: fprintf
        }
    }
}

void serve(FILE* f) {
    for (int i = 0; i != 100; ++i) {
        __transaction_atomic { fputs("served\n", f); }  // line: serve
    }
}

}  // namespace

int main() {
    FILE* const f = std::tmpfile();
    if (f == nullptr) return 1;
    const another_context beside{another};
    flush(f);
    split();
    print(f);
    serve(f);
    return std::fclose(f);
}
