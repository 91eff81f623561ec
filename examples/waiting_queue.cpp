// A bounded queue: a thread that cannot continue calls retry, and sleeps until a variable that it has read changes.
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>

class queue {
public:
    void push(tutti::tx& t, int value) {
        if (in_.get(t) - out_.get(t) == slots_.size()) tutti::retry(t);  // full
        slots_[in_.get(t) % slots_.size()].set(t, value);
        in_.set(t, in_.get(t) + 1);
    }
    int pop(tutti::tx& t) {
        if (in_.get(t) == out_.get(t)) tutti::retry(t);  // empty
        const int value = slots_[out_.get(t) % slots_.size()].get(t);
        out_.set(t, out_.get(t) + 1);
        return value;
    }

private:
    std::array<tutti::var<int>, 4> slots_;
    tutti::var<std::size_t> in_{0}, out_{0};
};

int main() {
    queue urgent, normal;
    constexpr int letters = 100;
    std::jthread sender{[&] {
        for (int i = 1; i <= letters; ++i) {
            queue& which = i % 10 == 0 ? urgent : normal;
            tutti::atomically([&](tutti::tx& t) { which.push(t, i); });
        }
    }};

    // Takes the first alternative that need not wait. While both are empty, a letter in either of them wakes the
    // thread.
    int sum = 0;
    for (int i = 0; i < letters; ++i) {
        sum += tutti::atomically([&](tutti::tx& t) {
            return tutti::or_else(
                t, [&](tutti::tx& u) { return urgent.pop(u); }, [&](tutti::tx& u) { return normal.pop(u); });
        });
    }

    // No more letters arrive: waits for a while, then does something else.
    tutti::var<bool> more{false};
    const bool timed_out = tutti::atomically([&](tutti::tx& t) {
        if (more.get(t)) return false;
        tutti::retry_for(t, std::chrono::milliseconds{10});
        return true;
    });
    std::printf("received letters 1 to %d, sum %d; then %s\n", letters, sum,
                timed_out ? "gave up waiting" : "got more");
    return sum == letters * (letters + 1) / 2 && timed_out ? 0 : 1;
}
