#include "cluster/tpcc/sharing.hpp"

#include <chrono>
#include <stdexcept>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

#include "cluster/tpcc/copies.hpp"
#include "tpcc/populate.hpp"

namespace tpcc::remote {
namespace {

using tutti::tx;

/// A server that loads for longer than this is assumed to have failed.
constexpr std::chrono::minutes load_timeout{2};

/// Returns true if this server has a part to load.
bool claim(const tables& to, const served::extent& how) {
    const unsigned parts = to.node().nodes();
    const load_record fresh{how.warehouses, how.seed, how.shrink, parts, 0};
    const load_record there = tutti::atomically({.name = "claim"}, [&](tx& t) {
        const load_record* const found = to.record().find(t);
        if (found != nullptr) return *found;
        to.record().publish(t, fresh);
        return load_record{};
    });
    if (there.parts == 0) return true;
    if (there.warehouses != how.warehouses || there.seed != how.seed || there.shrink != how.shrink) {
        throw std::runtime_error{fmt::format(
            "TPC-C: there are {} warehouses of seed {}, shrunk by {}: start this server with --set warehouses={} --set "
            "seed={} --set shrink={}, or use another prefix of the engine",
            there.warehouses, there.seed, there.shrink, there.warehouses, there.seed, there.shrink)};
    }
    return parts > 1;
}

void await_all(const tables& to) {
    const load_record now = tutti::atomically({.name = "await load"}, [&](tx& t) {
        const load_record record = to.record().read(t);
        if (record.loaded < record.parts) tutti::retry_for(t, load_timeout);
        return record;
    });
    if (now.loaded >= now.parts) return;
    throw std::runtime_error{fmt::format(
        "TPC-C: {} of {} parts are loaded, and the others have not come in {} minutes: start all servers anew, over an "
        "engine with another prefix",
        now.loaded, now.parts, load_timeout.count())};
}

}  // namespace

std::vector<warehouse_id> warehouses_of(const tutti::cluster::node& n, int of) {
    std::vector<warehouse_id> mine;
    for (warehouse_id w = 1; w <= of; ++w) {
        if (static_cast<unsigned>(w - 1) % n.nodes() == n.number()) mine.push_back(w);
    }
    return mine;
}

void load_together(const tables& to, const served::extent& how) {
    if (claim(to, how)) {
        const auto rows = populate(how.size, how.warehouses, static_cast<std::uint64_t>(how.seed), 1);
        publish_warehouses(*rows, to, warehouses_of(to.node(), how.warehouses));
        tutti::atomically({.name = "loaded"}, [&](tx& t) { ++to.record().write(t).loaded; });
    }
    await_all(to);
}

}  // namespace tpcc::remote
