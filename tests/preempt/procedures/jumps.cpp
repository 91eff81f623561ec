#include "preempt/procedures/jumps.hpp"

#include <csignal>

#include "tutti/open_nesting.hpp"

namespace procedures {
namespace {

thread_local block_leaver* raises = nullptr;

void leave_handler(int) { ::siglongjmp(raises->target, 1); }

/// Separate from the function that sets the target, as the compilers require.
[[gnu::noinline]] void jump_unseen(block_leaver& l) { __builtin_longjmp(l.unseen_target, 1); }

void write(block_leaver& l, tutti::tx& t) {
    l.of->set(t, l.of->get(t) + 100);
    t.on_abort([&l](tutti::abort_cause) { ++l.undone; });
}

/// Runs `block`, which jumps to the end of the procedure.
template <class F>
[[gnu::noinline]] void leave(void* of_block_leaver, F&& block) {
    auto& l = *static_cast<block_leaver*>(of_block_leaver);
    if (sigsetjmp(l.target, 1) == 0) block(l);
    ++l.came_back;
}

}  // namespace

void leave_by_longjmp(void* of_block_leaver) noexcept {
    leave(of_block_leaver, [](block_leaver& l) {
        tutti::atomically([&](tutti::tx& t) {
            write(l, t);
            ::longjmp(l.target, 1);
        });
    });
}

void leave_from_handler(void* of_block_leaver) noexcept {
    struct sigaction leaves{}, before{};
    leaves.sa_handler = leave_handler;
    ::sigaction(SIGUSR1, &leaves, &before);
    leave(of_block_leaver, [](block_leaver& l) {
        tutti::atomically([&](tutti::tx& t) {
            write(l, t);
            raises = &l;
            static_cast<void>(std::raise(SIGUSR1));
        });
    });
    ::sigaction(SIGUSR1, &before, nullptr);
}

void leave_two_blocks(void* of_block_leaver) noexcept {
    leave(of_block_leaver, [](block_leaver& l) {
        tutti::atomically([&](tutti::tx& t) {
            l.of->set(t, 1);
            tutti::atomically([&](tutti::tx& inner) {
                write(l, inner);
                ::longjmp(l.target, 1);
            });
        });
    });
}

void leave_inner_block(void* of_block_leaver) noexcept {
    auto& l = *static_cast<block_leaver*>(of_block_leaver);
    tutti::atomically([&](tutti::tx& t) {
        l.apart->set(t, 1);
        leave(of_block_leaver, [](block_leaver& of) {
            tutti::atomically([&](tutti::tx& inner) {
                write(of, inner);
                ::longjmp(of.target, 1);
            });
        });
    });
}

void leave_irrevocable_block(void* of_block_leaver) noexcept {
    leave(of_block_leaver, [](block_leaver& l) {
        tutti::atomically({.mode = tutti::mode::irrevocable}, [&](tutti::tx& t) {
            write(l, t);
            ::longjmp(l.target, 1);
        });
    });
}

void leave_open_nested_block(void* of_block_leaver) noexcept {
    leave(of_block_leaver, [](block_leaver& l) {
        tutti::atomically([&](tutti::tx& t) {
            write(l, t);
            tutti::open_nested(
                t,
                [&](tutti::tx& own) {
                    l.apart->set(own, 1);
                    ::longjmp(l.target, 1);
                },
                [](tutti::tx&) {});
        });
    });
}

void leave_unseen(void* of_block_leaver) noexcept {
    auto& l = *static_cast<block_leaver*>(of_block_leaver);
    if (__builtin_setjmp(l.unseen_target) == 0) {
        tutti::atomically([&](tutti::tx& t) {
            write(l, t);
            jump_unseen(l);
        });
    }
    ++l.came_back;
}

void leave_two_unseen(void* of_block_leaver) noexcept {
    auto& l = *static_cast<block_leaver*>(of_block_leaver);
    if (__builtin_setjmp(l.unseen_target) == 0) {
        tutti::atomically([&](tutti::tx& t) {
            write(l, t);
            tutti::open_nested(
                t,
                [&](tutti::tx& own) {
                    l.apart->set(own, 1);
                    jump_unseen(l);
                },
                [](tutti::tx&) {});
        });
    }
    ++l.came_back;
}

void jump_inside(void* of_block_leaver) noexcept {
    auto& l = *static_cast<block_leaver*>(of_block_leaver);
    tutti::atomically([&](tutti::tx& t) {
        l.of->set(t, l.of->get(t) + 1);
        if (sigsetjmp(l.target, 0) == 0) ::longjmp(l.target, 1);
        l.apart->set(t, l.apart->get(t) + 1);
    });
    ++l.came_back;
}

}  // namespace procedures
