// Meeting points of threads: permits for two machines at once, a result that is set once, and news for every listener.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <tutti/containers/broadcast.hpp>
#include <tutti/containers/one_shot.hpp>
#include <tutti/containers/semaphore.hpp>
#include <tutti/tutti.hpp>

namespace {

tutti::semaphore lathes{1}, drills{2};
tutti::broadcast<std::string> news;
tutti::one_shot<int> total;

void make(int parts) {
    for (int i = 0; i < parts; ++i) {
        // Takes both or none, in any order: no worker holds a lathe while it waits for a drill.
        tutti::atomically([](tutti::tx& t) {
            lathes.acquire(t);
            drills.acquire(t);
        });
        tutti::atomically([i](tutti::tx& t) {
            lathes.release(t);
            drills.release(t);
            news.send(t, "part " + std::to_string(i));
        });
    }
}

}  // namespace

int main() {
    constexpr int parts = 20, workers = 3;
    tutti::broadcast<std::string>::listener office{news};
    std::jthread counts{[&office] {
        int heard = 0;
        while (office.receive()) ++heard;  // returns nothing once the channel is closed and all messages are received
        (void)total.try_set(heard);
    }};
    {
        std::vector<std::jthread> shop;
        for (int i = 0; i < workers; ++i) shop.emplace_back(make, parts);
    }
    tutti::atomically([](tutti::tx& t) { news.close(t); });
    const int heard = total.get();
    std::printf("%d parts were made\n", heard);
    return heard == parts * workers ? 0 : 1;
}
