// The procedures of tutti-damage-servers. Each client has a number, and each call of the client adds one to that
// number. `counts` returns all numbers and their sum. If a call is lost or runs twice, the answer to the next call
// shows it.
#include <array>
#include <string>
#include <vector>

#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

namespace {

struct data {
    std::array<tutti::var<std::uint64_t>, 8> of_clients;
    tutti::var<std::uint64_t> sum{0};
};

data kept;

}  // namespace

TUTTI_PROCEDURES(server) {
    server.add("count", {}, [](std::size_t whose, const std::string& filler) {
        static_cast<void>(filler);  // makes the log longer
        return tutti::atomically([&](tutti::tx& t) {
            const std::uint64_t now = kept.of_clients.at(whose).get(t) + 1;
            kept.of_clients.at(whose).set(t, now);
            kept.sum.set(t, kept.sum.get(t) + 1);
            return now;
        });
    });
    server.add("counts", {.read_only = true}, [] {
        return tutti::atomically([](tutti::tx& t) {
            std::vector<std::uint64_t> all;
            for (auto& n : kept.of_clients) all.push_back(n.get(t));
            all.push_back(kept.sum.get(t));
            return all;
        });
    });
    server.at_snapshot(
        "counts",
        [](tutti::server::snapshot_writer& to) {
            tutti::atomically([&](tutti::tx& t) {
                for (auto& n : kept.of_clients) to.put(std::to_string(n.get(t)) + std::string(3000, ' '));
                to.put(std::to_string(kept.sum.get(t)));
            });
        },
        [](tutti::server::snapshot_reader& from) {
            for (auto& n : kept.of_clients) n.store(std::stoull(std::string{from.next().value()}));
            kept.sum.store(std::stoull(std::string{from.next().value()}));
        });
}
