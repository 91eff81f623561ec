// Moves money between two accounts in one transaction; exits with status 0 if the sum is right.
#include <tutti/tutti.hpp>

int main() {
    tutti::var<long> from{100};
    tutti::var<long> to{0};
    tutti::atomically([&](tutti::tx& t) {
        from.set(t, from.get(t) - 30);
        to.set(t, to.get(t) + 30);
    });
    const bool moved = tutti::atomically([&](tutti::tx& t) { return from.get(t) == 70 && to.get(t) == 30; });
    return moved ? 0 : 1;
}
