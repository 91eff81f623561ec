#include <tutti/libc/functions.hpp>
#include <tutti/tutti.hpp>

#include "writers.hpp"

namespace streams {

long line_number = 0;

void write_line_in_library(FILE* f, int writer) {
    tutti::atomically([&](tutti::tx& t) {
        const long n = tutti::load(t, &line_number);
        tutti::store(t, &line_number, n + 1);
        tutti::libc::fprintf(t, f, "%ld ", n);
        tutti::libc::fprintf(t, f, "%d", writer);
        tutti::libc::fputc(t, ' ', f);
        tutti::libc::fputs(t, "a line of some length, so that buffers end inside of one", f);
        tutti::libc::fputc(t, '\n', f);
    });
}

}  // namespace streams
