// Blocks of the library and of the language in one program are one transaction when one stands inside the other.
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
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
    return failures == 0 ? 0 : 1;
}
