#include "writers.hpp"

namespace streams {

void write_line_in_language(FILE* f, int writer) {
    __transaction_atomic {
        fprintf(f, "%ld ", line_number++);
        fprintf(f, "%d", writer);
        fputc(' ', f);
        fputs("a line of some length, so that buffers end inside of one", f);
        fputc('\n', f);
    }
}

}  // namespace streams
