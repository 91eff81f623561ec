#include <tutti/libc/functions.hpp>
#include <tutti/tutti.hpp>

#include "steps.hpp"

namespace streams {
namespace {

void note(long result) { answers.push_back(answer_of(result, nullptr, 0)); }

void run(tutti::tx& t, FILE* f, const std::vector<step>& steps) {
    // The transaction's writes may not be in memory yet.
    const auto note_bytes = [&t](long result, std::size_t size) {
        std::vector<char> bytes(size);
        for (std::size_t i = 0; i != size; ++i) bytes[i] = tutti::load(t, got + i);
        answers.push_back(answer_of(result, bytes.data(), size));
    };
    const auto note_line = [&t, &note_bytes](long result) {
        std::size_t n = 0;
        while (tutti::load(t, got + n) != 0) ++n;
        note_bytes(result, n);
    };
    for (const step& s : steps) {
#define TUTTI_CALL(name, ...) tutti::libc::name(t, __VA_ARGS__)
#include "one_step.inc"
#undef TUTTI_CALL
    }
}

}  // namespace

void run_in_library(FILE* f, const plan& p) {
    int restarts_left = p.restarts;
    try {
        tutti::atomically([&](tutti::tx& t) {
            answers.clear();
            ended = {};
            run(t, f, p.before);
            try {
                tutti::atomically([&](tutti::tx& inner) {
                    run(inner, f, p.nested);
                    ended.nested_was_cancelled = p.nested_is_cancelled && !inner.irrevocable();
                    if (ended.nested_was_cancelled) tutti::cancel(inner);
                });
            } catch (const tutti::cancelled&) {}
            run(t, f, p.after);
            if (restarts_left != 0 && !t.irrevocable()) {
                --restarts_left;
                tutti::restart(t);
            }
            ended.was_cancelled = p.is_cancelled && !t.irrevocable();
            if (ended.was_cancelled) tutti::cancel(t);
        });
    } catch (const tutti::cancelled&) {}
}

}  // namespace streams
