// Blocks of the library and of the language in one program are one transaction when one stands inside the other.
#include <atomic>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <utility>
#include <vector>

namespace {

int failures = 0;

#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            ++failures;                                                                  \
        }                                                                                \
    } while (false)

tutti::var<long> left{0};
long right = 0;

// clang-format off

/// Fails, so that the library rolls back; the exception passes no block of the language.
struct refused {};

[[gnu::noinline]] void raise_right() { __transaction_atomic { ++right; } }
[[gnu::noinline]] void raise_right_in_vain() { __transaction_atomic { right += 100; __transaction_cancel; } }

void language_in_library() {
    tutti::atomically([](tutti::tx& t) {
        left.set(t, left.get(t) + 1);
        raise_right();
        raise_right_in_vain();
    });
    EXPECT(left.load() == 1 && right == 1);
    bool caught = false;
    try {
        tutti::atomically([](tutti::tx& t) {
            left.set(t, 50);
            raise_right();
            throw refused{};
        });
    } catch (const refused&) {
        caught = true;
    }
    EXPECT(caught && left.load() == 1 && right == 1);
}

void library_in_language() {
    synchronized {
        tutti::atomically([](tutti::tx& t) { left.set(t, left.get(t) + 1); });
        ++right;
    }
    EXPECT(left.load() == 2 && right == 2);
}

struct local {
    local() noexcept { ++alive; }
    ~local() { --alive; }
    static inline std::atomic<int> alive{0};
};

bool overtaken = false;

/// Another thread changes what the library's block has read and what the language's is about to read, so that the whole
/// has to start over from inside the latter.
[[gnu::transaction_pure]] void overtake_once() {
    if (std::exchange(overtaken, true)) return;
    std::thread{[] {
        tutti::atomically({.privatization = tutti::privatization::waived}, [](tutti::tx& t) {
            left.set(t, left.get(t) + 10);
            tutti::store(t, &right, tutti::load(t, &right) + 10);
        });
    }}.join();
}

/// A frame with something to clean up, around a barrier that the compiler takes for a call that does not throw.
[[gnu::noinline]] long read_right() {
    const local here;
    long seen = 0;
    __transaction_atomic {
        overtake_once();
        seen = right;
    }
    return seen;
}

void restarted_from_inside() {
    const long sum = left.load() + right;
    int attempts = 0;
    for (int i = 0; i != 100; ++i) {
        overtaken = false;
        tutti::atomically([&](tutti::tx& t) {
            const local in_the_library;
            ++attempts;
            const long l = left.get(t);
            const long r = read_right();
            EXPECT(l + r == sum + 20 * (i + 1));
        });
    }
    EXPECT(attempts == 200);
    EXPECT(left.load() + right == sum + 2000);
}

/// Neither form sees the other's transactions in between.
void side_by_side() {
    std::vector<std::thread> crew;
    for (int me = 0; me != 4; ++me) {
        crew.emplace_back([me] {
            for (int i = 0; i != 500; ++i) {
                if (me % 2 == 0) {
                    tutti::atomically([](tutti::tx& t) {
                        left.set(t, left.get(t) + 1);
                        tutti::store(t, &right, tutti::load(t, &right) + 1);
                    });
                } else {
                    synchronized {
                        const long there = left.load();
                        left.store(there + 1);
                        ++right;
                    }
                }
            }
        });
    }
    for (std::thread& t : crew) t.join();
    EXPECT(left.load() == 2002 && right == 2002);
}

// clang-format on

}  // namespace

int main() {
    language_in_library();
    library_in_language();
    side_by_side();
    restarted_from_inside();
    return failures == 0 ? 0 : 1;
}
