#include "itm/site.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "itm/block.hpp"
#include "itm/registration_lock.hpp"

namespace tutti::itm {
namespace {

/// Guarded by `registration_lock`.
struct directory {
    std::deque<detail::site_slot> slots;  // a deque, so that the addresses of slots do not change
    std::unordered_map<const void*, detail::site_slot*> by_address;
};

// The directory is never destroyed, because blocks may run in static destructors.
directory& sites() {
    static auto* const d = new directory;
    return *d;
}

}  // namespace

const char* describe(const void* address, char* into, std::size_t size) noexcept {
    Dl_info info{};
    if (::dladdr(address, &info) == 0) {
        std::snprintf(into, size, "%p", address);
        return into;
    }
    const auto offset_from = [address](const void* base) {
        return static_cast<unsigned long>(static_cast<const char*>(address) - static_cast<const char*>(base));
    };
    if (info.dli_sname != nullptr) {
        std::snprintf(into, size, "%s+0x%lx (%s)", info.dli_sname, offset_from(info.dli_saddr), info.dli_fname);
    } else {
        std::snprintf(into, size, "%s+0x%lx", info.dli_fname, offset_from(info.dli_fbase));
    }
    return into;
}

detail::site_slot& slot_of(const void* resume) {
    directory& all = sites();
    {
        const std::lock_guard guard{registration_lock};
        if (const auto known = all.by_address.find(resume); known != all.by_address.end()) return *known->second;
    }
    char where[256];
    describe(resume, where, sizeof where);  // runs without the lock, because it acquires the dynamic linker's lock
    const std::lock_guard guard{registration_lock};
    const auto [place, is_new] = all.by_address.try_emplace(resume, nullptr);
    if (is_new) {
        detail::site_slot& made = all.slots.emplace_back();
        // Like the slot, the texts are never freed. They are copies, because an object may be unloaded before they are
        // printed.
        made.file = ::strdup(where);
        made.function = made.file;
        place->second = &made;
    }
    return *place->second;
}

}  // namespace tutti::itm
