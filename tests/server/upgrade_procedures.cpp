// A shared object in three versions: euros, cents, and one that cannot load any snapshot.
#include <stdexcept>
#include <string>

#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

namespace {

constexpr long version = VERSION;
constexpr long of_a_euro = version == 1 ? 1 : 100;
// A global variable, as in real objects. The dynamic linker would merge the variables of two versions into one.
inline tutti::var<long> paid{0};

}  // namespace

TUTTI_PROCEDURES(server) {
    server.add("pay", {}, [](long euros) {
        tutti::atomically([&](tutti::tx& t) { paid.set(t, paid.get(t) + euros * of_a_euro); });
    });
    server.add("paid", {.read_only = true}, [] { return paid.load(); });
    server.at_snapshot(
        "paid",
        [](tutti::server::snapshot_writer& to) {
            to.put(std::to_string(version));
            to.put(std::to_string(paid.load()));
        },
        [](tutti::server::snapshot_reader& from) {
            const long made_by = std::stol(std::string{from.next().value()});
            if (version == 3 || made_by > version)
                throw std::runtime_error{"version " + std::to_string(version) + " loads nothing of version " +
                                         std::to_string(made_by)};
            paid.store(std::stol(std::string{from.next().value()}) * (made_by == version ? 1 : of_a_euro));
        });
}
