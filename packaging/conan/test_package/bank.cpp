#include <tutti/tutti.hpp>

int main() {
    tutti::var<long> savings{100}, checking{0};
    tutti::atomically([&](tutti::tx& t) {
        savings.set(t, savings.get(t) - 30);
        checking.set(t, checking.get(t) + 30);
    });
    return savings.load() + checking.load() == 100 ? 0 : 1;
}
