// libstdc++ in atomic blocks, now that its throwing functions have clones: blocks change its containers, and let an
// exception out, which commits. Catches an exception that a restart leaks or loses.
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../language/expect.hpp"

extern "C" [[gnu::transaction_pure]] void _ITM_abortTransaction(int why);

namespace {

int restarts_left = 0;
[[gnu::transaction_pure, gnu::noinline]] void restart_some_times() {
    if (restarts_left == 0) return;
    --restarts_left;
    _ITM_abortTransaction(4);
}
bool cancels = false;

std::vector<int> numbers{1, 2, 3};
std::deque<int> queue;
std::string text = "abc";
int sum = 0;

void changed() {
    __transaction_atomic {
        for (int i = 0; i != 100; ++i) numbers.push_back(i);
        queue.push_back(7);
        text += " is longer than what fits in a string itself";
        text += std::to_string(42);
        restart_some_times();
        if (cancels) __transaction_cancel;
    }
}

void reads_behind_the_end(std::size_t index) {
    __transaction_atomic {
        ++sum;
        restart_some_times();
        sum += numbers.at(index);
        if (cancels) __transaction_cancel;
    }
}

}  // namespace

int main() {
    cancels = true;
    changed();
    EXPECT(numbers.size() == 3 && queue.empty() && text == "abc");
    cancels = false;
    restarts_left = 3;
    changed();
    EXPECT(numbers.size() == 103 && numbers.back() == 99);
    EXPECT(queue.size() == 1 && queue.front() == 7);
    EXPECT(text == "abc is longer than what fits in a string itself42");

    restarts_left = 3;
    std::string what;
    try {
        reads_behind_the_end(103);
    } catch (const std::out_of_range& e) {
        what = e.what();
    }
    EXPECT(what.find("103") != std::string::npos);
    EXPECT(sum == 1);  // the exception committed
    reads_behind_the_end(0);
    EXPECT(sum == 3);
    return 0;
}
