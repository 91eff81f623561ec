// Restarts that jump past frames of this program. They must work with a sanitizer that instruments this program but not
// the library, and with a compiler other than the library's.
#include <cstdio>
#include <tutti/tutti.hpp>

extern "C" int restarts_in_c();

namespace {

constexpr unsigned restarts =
    16000;  // each makes some calls, and the shadow stack of ThreadSanitizer has room for only 65,000 calls

/// Frames with an array that AddressSanitizer guards.
[[gnu::noinline]] void beyond(unsigned depth, void (*leave)(tutti::tx&), tutti::tx& t) {
    volatile char fenced[48];
    fenced[depth] = 1;
    if (depth == 0) leave(t);
    else beyond(depth - 1, leave, t);
    fenced[depth] = static_cast<char>(fenced[depth] + 1);
}

/// Writes and reads the stack memory in which frames of `beyond` were.
[[gnu::noinline]] int trample() {
    volatile char all[4096];
    for (volatile char& c : all) c = 1;
    int sum = 0;
    for (volatile char& c : all) sum += c;
    return sum;
}

void restart_until(tutti::tx& t, unsigned attempts) {
    if (t.attempt() <= attempts) beyond(3, tutti::restart, t);
}

tutti::var<unsigned> outermost{0}, within_c{0}, nested{0}, alternative{0};

}  // namespace

/// For the C half: a C++ block between two C blocks.
extern "C" void block_in_cxx() {
    int runs = 0;
    tutti::atomically([&](tutti::tx& t) {
        if (++runs < 10) beyond(3, tutti::restart, t);
        within_c.set(t, within_c.get(t) + 1);
    });
}

int main() {
    tutti::atomically(tutti::no_unwind, [](tutti::tx& t) {
        outermost.set(t, outermost.get(t) + t.attempt());
        restart_until(t, restarts);
    });
    // A nested block unwinds; the block around it continues with a jump.
    int runs = 0;
    tutti::atomically(tutti::no_unwind, [&](tutti::tx& t) {
        tutti::atomically([&](tutti::tx& inner) {
            nested.set(inner, nested.get(inner) + 1);
            if (++runs % 10 != 0) beyond(3, tutti::restart, inner);
        });
        restart_until(t, 100);
    });
    // A retry in the first alternative starts the second one.
    for (int i = 0; i < 1000; ++i) {
        tutti::atomically(tutti::no_unwind, [](tutti::tx& t) {
            tutti::or_else(
                t, [](tutti::tx& first) { beyond(3, tutti::retry, first); },
                [](tutti::tx& last) { alternative.set(last, alternative.get(last) + 1); });
        });
    }
    if (restarts_in_c() != 0) return 1;
    const bool right = outermost.load() == restarts + 1 && nested.load() == 1 && alternative.load() == 1000 &&
                       within_c.load() == 1 && trample() == 4096;
    std::puts(right ? "all restarted" : "something is lost");
    return right ? 0 : 1;
}
