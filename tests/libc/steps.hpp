// Calls of stdio as data: the same list runs in a block of the language, in one of the library, and by glibc alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

namespace streams {

enum class call : std::uint8_t {
    fputc,
    fputs,
    fwrite,
    fprintf,
    fgetc,
    fgets,
    fread,
    ungetc,
    unread,
    reposition,
    fseek,
    ftell,
    rewind,
    feof,
    ferror,
    clearerr,
    fflush
};

struct step {
    call what;
    long amount;  ///< a character, a number of bytes, or an offset
    int whence;
};

/// How a block ends, and how it gets there.
struct plan {
    std::vector<step> before, nested, after;
    bool nested_is_cancelled = false;
    bool is_cancelled = false;
    int restarts = 0;
};

/// What a call answered: its result, and a digest of what it wrote through its pointers.
struct answer {
    long result;
    std::uint64_t digest;
    bool operator==(const answer&) const = default;
};

/// What is written: letters, and the end of a line after every 60.
extern char text[8192];
/// Where input goes.
extern char got[8192];
extern fpos_t position;  // outlives the block, whose commit writes it
extern std::vector<answer> answers;

[[nodiscard]] answer answer_of(long result, const char* bytes, std::size_t size);

/// How the latest block ended: one that has become irrevocable is neither restarted nor cancelled.
struct outcome {
    bool nested_was_cancelled = false;
    bool was_cancelled = false;
};
extern outcome ended;

// Each runs the plan on `f`, in one block, and leaves the answers of its last attempt, and how it ended.
void run_in_language(FILE* f, const plan& p);
void run_in_library(FILE* f, const plan& p);

/// By glibc alone.
void run_plainly(FILE* f, const std::vector<step>& steps);

}  // namespace streams
