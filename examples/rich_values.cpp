// Variables of any copyable type. A value larger than a word is stored outside of the variable. Old values are freed
// when no transaction can still see them.
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

struct position {
    double x = 0, y = 0, z = 0;
};

struct settings {
    std::string host;
    std::vector<int> ports;
};

int main() {
    tutti::var<std::string> status{"starting"};
    tutti::var<position> probe;
    tutti::var<std::shared_ptr<const settings>> current{std::make_shared<settings>(settings{"localhost", {80}})};

    // A writer moves the probe and updates the status; both change at once.
    std::jthread writer{[&] {
        for (int i = 1; i <= 100; ++i) {
            tutti::atomically([&](tutti::tx& t) {
                const position p{1.0 * i, 2.0 * i, 3.0 * i};
                probe.set(t, p);
                status.set(t, "at " + std::to_string(i));
            });
        }
    }};

    // The reference that get returns is valid until the block ends: copy values that have to live longer.
    bool consistent = true;
    for (int i = 0; i < 100; ++i) {
        consistent &= tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            const position& p = probe.get(t);
            const std::string& s = status.get(t);
            return p.z == 3 * p.x && (p.x == 0 || s == "at " + std::to_string(static_cast<int>(p.x)));
        });
    }
    writer.join();

    // Sharing instead of copying: readers keep the settings that they loaded, whatever is stored later.
    const auto taken = current.load();
    current.store(std::make_shared<settings>(settings{"example.org", {80, 443}}));
    std::printf("%s; settings taken: %s, now: %s\n", status.load().c_str(), taken->host.c_str(),
                current.load()->host.c_str());
    return consistent && status.load() == "at 100" && taken->host == "localhost" ? 0 : 1;
}
