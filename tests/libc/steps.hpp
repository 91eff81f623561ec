// stdio calls as data: the same list runs in a block of the language, in a block of the library, and in glibc alone.
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

/// The steps and the end of a block.
struct plan {
    std::vector<step> before, nested, after;
    bool nested_is_cancelled = false;
    bool is_cancelled = false;
    int restarts = 0;
};

/// The answer of a call: its result, and a digest of the data that it wrote through its pointers.
struct answer {
    long result;
    std::uint64_t digest;
    bool operator==(const answer&) const = default;
};

/// The source of output: letters, and a line end after every 60.
extern char text[8192];
/// The target of input.
extern char got[8192];
extern fpos_t position;  // outlives the block, because the commit writes it
extern std::vector<answer> answers;

[[nodiscard]] answer answer_of(long result, const char* bytes, std::size_t size);

/// The end of the latest block: an irrevocable block is neither restarted nor cancelled.
struct outcome {
    bool nested_was_cancelled = false;
    bool was_cancelled = false;
};
extern outcome ended;

// Each runs the plan on `f` in one block. `answers` gets the answers of the last attempt, and `ended` the end of the
// block.
void run_in_language(FILE* f, const plan& p);
void run_in_library(FILE* f, const plan& p);

/// Runs the steps in glibc alone.
void run_plainly(FILE* f, const std::vector<step>& steps);

}  // namespace streams
