#include "observe/site.hpp"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/never_destroyed.hpp"

namespace tutti::observe {
namespace {

struct registry {
    std::deque<site> all;  // sites do not move
    std::unordered_map<std::string, site*> by_identity;
};

constinit base::never_destroyed<std::mutex> mutex;

/// Returns the registry, which is created at the first call and never destroyed. REQUIRES: the caller holds the mutex.
registry& sites_registry() {
    static constinit registry* made = nullptr;
    if (made == nullptr) made = new registry;
    return *made;
}

site& find_or_make(const detail::call_site& where, const char* given_name) {
    const std::string name = given_name != nullptr ? given_name : "";
    const std::string file = file_of(where);
    // The identity does not contain the function, because compilers disagree on whether each instance of a generic
    // lambda has its own name.
    const std::string identity = file + ':' + std::to_string(line_of(where)) + ':' + name;
    const std::lock_guard guard{mutex.value};
    registry& r = sites_registry();
    if (const auto found = r.by_identity.find(identity); found != r.by_identity.end()) return *found->second;
    site& made = r.all.emplace_back();
    made.id = static_cast<std::uint32_t>(r.all.size() - 1);
    made.name = name;
    made.file = file;
    made.function = is_in_c(where) ? where.slot->function : where.at.function_name();
    made.line = line_of(where);
    made.given_name = given_name;
    r.by_identity.emplace(identity, &made);
    return made;
}

}  // namespace

site& site_of(const detail::call_site& where, const char* given_name) {
    // Acquire, because the site was filled before its pointer was stored.
    if (auto* const known = static_cast<site*>(where.slot->site.load(std::memory_order_acquire));
        known != nullptr && known->given_name == given_name && known->line == line_of(where)) {
        return *known;
    }
    site& s = find_or_make(where, given_name);
    void* empty = nullptr;
    where.slot->site.compare_exchange_strong(empty, &s, std::memory_order_release, std::memory_order_relaxed);
    return s;
}

void lock_sites() noexcept { mutex.value.lock(); }
void unlock_sites() noexcept { mutex.value.unlock(); }

const site& site_number(std::uint32_t id) {
    const std::lock_guard guard{mutex.value};
    registry& r = sites_registry();
    return r.all[id];
}

std::uint32_t sites() {
    const std::lock_guard guard{mutex.value};
    registry& r = sites_registry();
    return static_cast<std::uint32_t>(r.all.size());
}

}  // namespace tutti::observe
