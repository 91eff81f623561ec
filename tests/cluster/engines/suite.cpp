// Options of the tests, and the size and existence of objects in an engine.
#include "cluster/engines/suite.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/backend/address.hpp"
#include "cluster/engines/journal.hpp"

namespace tutti::cluster::testing {
namespace {

std::string fresh_prefix() {
    static std::atomic<unsigned> count{0};
    return "t" + std::to_string(count.fetch_add(1));
}

}  // namespace

engine_options under_test::options(std::chrono::milliseconds request_timeout) const {
    engine_options how;
    how.address = address;
    how.prefix = fresh_prefix();
    how.request_timeout = request_timeout;
    // The staleness also applies to nodes that share the engine; they never miss commits of their own process.
    if (const char* const given = std::getenv("TUTTI_ENGINE_STALENESS"))
        how.staleness = std::chrono::milliseconds{std::atoi(given)};
    return how;
}

std::string absent_twice_differs(const under_test& e) {
    const engine_options how = e.options();
    const auto engine = backend::open_engine(how.address, {how.prefix, how.request_timeout});
    const backend::key one{"o1"};
    std::vector<backend::record> found;
    const auto look = [&] {
        backend::read_snapshot any;
        if (engine->get(any, backend::freshness::now, {}, {&one, 1}, found) != backend::engine_status::good)
            throw std::runtime_error{"it cannot be read"};
        return found.front();
    };
    const auto set = [&](backend::version was, bool exists) {
        const backend::check c{one, was};
        const backend::write w{one, exists, exists ? "x" : ""};
        backend::request r;
        r.checks = {&c, 1};
        r.writes = {&w, 1};
        engine->commit(r);
        return r.status;
    };
    if (look().exists || look().at != 0) return "a record exists that was never written";
    if (set(0, true) != backend::engine_status::good) return "it cannot be made";
    if (set(0, true) != backend::engine_status::conflict) return "it is made twice";
    if (set(look().at, false) != backend::engine_status::good || look().exists) return "it cannot be erased";
    const backend::version first = look().at;
    if (first == 0) return "an erased record has the version of one that was never written";
    if (set(first, true) != backend::engine_status::good || set(look().at, false) != backend::engine_status::good)
        return "it cannot be made again";
    if (look().at == first) return "two absences have one version";
    return {};
}

std::string too_large_is_refused(const under_test& e) {
    const engine_options how = e.options();
    node here{how};
    const engine_capabilities can = here.capabilities();
    const ref<std::string> small{here, "small"}, large{here, "large"};
    const auto refused = [&](auto&& body) -> std::string {
        try {
            atomically(body);
        } catch (const std::length_error& x) {
            const std::string says = x.what();
            return says.find(can.name) != std::string::npos ? "" : "the refusal does not name the engine: " + says;
        }
        return "it was not refused";
    };
    std::string wrong = refused([&](tx& t) {
        small.publish(t, "x");
        large.publish(t, std::string(can.max_bytes, 'x'));
    });
    if (wrong.empty() && can.max_objects < 10000) {
        wrong = refused([&](tx& t) {
            small.publish(t, "x");
            for (std::uint64_t i = 0; i < can.max_objects; ++i) ref<tagged>{here, {5, i}}.publish(t, {i});
        });
    }
    if (!wrong.empty()) return wrong;
    if (atomically([&](tx& t) { return small.find(t) != nullptr; })) return "a part of a refused commit is written";
    return {};
}

}  // namespace tutti::cluster::testing
