#include "server/protocol/eviction.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "server/protocol/principal.hpp"

namespace tutti::server {
namespace {

struct principal_memory {
    const principal* whose = nullptr;
    std::size_t bytes = 0;
    std::vector<std::size_t> connections{};  // largest last
};

/// Returns true if `b` has to lose a connection before `a`.
bool is_spared(const principal_memory* a, const principal_memory* b) noexcept {
    if (a->whose->is_admin() != b->whose->is_admin()) return a->whose->is_admin();
    return static_cast<double>(a->bytes) / a->whose->weight() < static_cast<double>(b->bytes) / b->whose->weight();
}

}  // namespace

std::vector<std::size_t> choose_evicted(std::span<const client_memory> all, std::size_t limit) {
    std::map<const principal*, principal_memory> by_principal;
    std::size_t held = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].bytes == 0) continue;
        principal_memory& e = by_principal[all[i].whose];
        e.whose = all[i].whose;
        e.bytes += all[i].bytes;
        e.connections.push_back(i);
        held += all[i].bytes;
    }
    std::priority_queue<principal_memory*, std::vector<principal_memory*>, decltype(&is_spared)> next{&is_spared};
    for (auto& [whose, e] : by_principal) {
        std::ranges::sort(e.connections, {}, [&](std::size_t i) { return all[i].bytes; });
        next.push(&e);
    }
    std::vector<std::size_t> chosen;
    while (held > limit && !next.empty()) {
        principal_memory* const e = next.top();
        next.pop();
        const std::size_t largest = e->connections.back();
        e->connections.pop_back();
        e->bytes -= all[largest].bytes;
        held -= all[largest].bytes;
        chosen.push_back(largest);
        if (!e->connections.empty()) next.push(e);
    }
    return chosen;
}

}  // namespace tutti::server
