#include "steps.hpp"

#include <string>

namespace streams {

char text[8192];
char got[8192];
fpos_t position;
std::vector<answer> answers;
outcome ended;

namespace {

[[gnu::constructor]] void write_text() {
    for (std::size_t i = 0; i + 1 != sizeof text; ++i) {
        text[i] = i % 61 == 60 ? '\n' : static_cast<char>('a' + i % 23);
    }
}

void note(long result) { answers.push_back(answer_of(result, nullptr, 0)); }
void note_bytes(long result, std::size_t size) { answers.push_back(answer_of(result, got, size)); }
void note_line(long result) { note_bytes(result, std::char_traits<char>::length(got)); }

}  // namespace

answer answer_of(long result, const char* bytes, std::size_t size) {
    std::uint64_t digest = 0xcbf29ce484222325U;
    for (std::size_t i = 0; i != size; ++i) {
        digest = (digest ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3U;
    }
    return {result, digest};
}

void run_plainly(FILE* f, const std::vector<step>& steps) {
    for (const step& s : steps) {
#define TUTTI_CALL(name, ...) std::name(__VA_ARGS__)
#include "one_step.inc"
#undef TUTTI_CALL
    }
}

}  // namespace streams
