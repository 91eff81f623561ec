// User actions, which run when a block commits or is rolled back.
#include "programs.hpp"

#include <string>
#include <vector>

extern "C" TUTTI_PURE void _ITM_addUserUndoAction(void (*)(void*), void*);

namespace language {

// clang-format off

namespace {

std::vector<long> committed;
void note_committed(void* value) { committed.push_back(reinterpret_cast<long>(value)); }

}  // namespace

/// Commit actions run in the order in which transactions that share data commit.
void commit_order() {
    constexpr int each = 5000;
    committed.reserve(4 * each);
    static long ticket = 0;
    run_threads(4, [](int) {
        for (int i = 0; i != each; ++i) {
            __transaction_atomic {
                const long mine = ++ticket;
                _ITM_addUserCommitAction(note_committed, 1, reinterpret_cast<void*>(mine));
            }
        }
    });
    EXPECT(committed.size() == 4 * each);
    for (std::size_t i = 0; i != committed.size(); ++i) EXPECT(committed[i] == static_cast<long>(i) + 1);
}

namespace {

std::string undone;
void note_undone(void* letter) { undone += static_cast<char>(reinterpret_cast<long>(letter)); }
TUTTI_PURE void undo_later(char letter) { _ITM_addUserUndoAction(note_undone, reinterpret_cast<void*>(long{letter})); }

}  // namespace

void undo_order() {
    __transaction_atomic {
        undo_later('a');
        __transaction_atomic { undo_later('b'); undo_later('c'); __transaction_cancel; }
        undo_later('d');
        __transaction_cancel;
    }
    EXPECT(undone == "cbda");
}

namespace {

long left_by_undos = 0;
void undo_by_block(void*) { __transaction_atomic { ++left_by_undos; } }
TUTTI_PURE void undo_by_block_later() { _ITM_addUserUndoAction(undo_by_block, nullptr); }

}  // namespace

/// An undo action of an outermost block may run blocks of its own, on the same descriptor, before that block begins
/// again.
void undo_by_blocks() {
    const another_context there{another};
    static long count = 0;
    restarts_left = 3;
    __transaction_atomic {
        undo_by_block_later();
        ++count;
        restart_some_times();
    }
    EXPECT(count == 1 && left_by_undos == 3);
    __transaction_atomic {
        undo_by_block_later();
        count = 7;
        if (certainly != 0) __transaction_cancel;
    }
    EXPECT(count == 1 && left_by_undos == 4);
}

// clang-format on

}  // namespace language
