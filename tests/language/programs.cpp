// Uses of language transactions beyond reads and writes, one case a run: language_programs <case> [<argument>].
#include "programs.hpp"

#include <string_view>

namespace {

struct one_case {
    std::string_view name;
    void (*run)();
};

constexpr one_case cases[] = {
    {"exceptions", language::exceptions},
    {"restarted-exceptions", language::restarted_exceptions},
    {"exceptions-that-are-over", language::exceptions_that_are_over},
    {"exceptions-under-contention", language::exceptions_under_contention},
    {"turns", language::turns},
    {"synchronized", language::synchronized_blocks},
    {"static-initialisation", language::static_initialisation},
    {"cancel-inside-irrevocable", language::cancel_inside_irrevocable},
    {"cancel-too-late", language::cancel_too_late},
    {"forms", language::forms},
    {"thrown-out-of-noexcept", language::thrown_out_of_noexcept},
    {"two-languages", language::two_languages},
    {"commit-order", language::commit_order},
    {"undo-order", language::undo_order},
    {"undo-by-blocks", language::undo_by_blocks},
    {"allocation", language::allocation},
    {"cancelled-deletes", language::cancelled_deletes},
    {"thread-local", language::thread_local_memory},
    {"copies", language::copies},
    {"bit-fields", language::bit_fields},
    {"thread-exits", language::thread_exits},
};

}  // namespace

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "plugins" && argc > 2) {
        language::plugins(argv[2]);
        return 0;
    }
    for (const one_case& one : cases) {
        if (one.name != which) continue;
        one.run();
        return 0;
    }
    return 2;
}
