#include "itm/landmarks.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <mutex>
#include <new>
#include <unordered_map>

namespace tutti::itm {
namespace {

struct directory {
    std::mutex mutex;
    std::unordered_map<const void*, landmark> by_address;
};

// Never destroyed: blocks may run in static destructors.
directory& landmarks() {
    static auto* const d = new directory;
    return *d;
}

landmark resolve(const void* address) {
    landmark found;
    Dl_info info{};
    link_map* map = nullptr;
    if (::dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) {
        found.offset = reinterpret_cast<std::uintptr_t>(address);
        return found;
    }
    // The program itself has no name in the list of objects, and the one it was called by may be relative.
    found.object = map->l_name == nullptr || *map->l_name == '\0' ? path_of_program() : map->l_name;
    found.offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
    if (info.dli_sname != nullptr) found.symbol = info.dli_sname;
    return found;
}

}  // namespace

std::string path_of_program() {
    char path[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string{path, static_cast<std::size_t>(length)} : std::string{};
}

void remember(const void* address) noexcept {
    if (address == nullptr) return;
    try {
        directory& all = landmarks();
        const std::lock_guard guard{all.mutex};
        if (!all.by_address.contains(address)) all.by_address.emplace(address, resolve(address));
    } catch (const std::bad_alloc&) {
        // as promised
    }
}

landmark landmark_of(const void* address) {
    directory& all = landmarks();
    const std::lock_guard guard{all.mutex};
    const auto found = all.by_address.find(address);
    return found != all.by_address.end() ? found->second : resolve(address);
}

}  // namespace tutti::itm
