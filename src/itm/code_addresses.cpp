#include "itm/code_addresses.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <memory>
#include <new>

namespace tutti::itm {
namespace {

struct recorded_address {
    const void* address;
    code_address description;
    const recorded_address* older;
};
constinit std::atomic<const recorded_address*> newest{nullptr};

const code_address* find(const void* address) noexcept {
    // Partner: the release in record_address.
    for (const recorded_address* n = newest.load(std::memory_order_acquire); n != nullptr; n = n->older) {
        if (n->address == address) return &n->description;
    }
    return nullptr;
}

/// Makes the path absolute, because an object may have been loaded by a path relative to the working folder of that
/// time.
std::string absolute(const char* path) {
    const std::unique_ptr<char, void (*)(void*)> full{*path == '/' ? nullptr : ::realpath(path, nullptr), std::free};
    return full != nullptr ? full.get() : path;
}

std::string path_of_program() {
    char path[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string{path, static_cast<std::size_t>(length)} : std::string{};
}

code_address resolve(const void* address) {
    code_address found;
    Dl_info info{};
    link_map* map = nullptr;
    if (::dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) {
        found.offset = reinterpret_cast<std::uintptr_t>(address);
        return found;
    }
    // The list of objects has no name for the program itself, and the path that started the program may be relative.
    found.object = map->l_name == nullptr || *map->l_name == '\0' ? path_of_program() : absolute(map->l_name);
    found.offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
    if (info.dli_sname != nullptr) found.symbol = info.dli_sname;
    return found;
}

}  // namespace

void record_address(const void* address) noexcept {
    if (find(address) != nullptr) return;
    try {
        auto* const n = new recorded_address{address, resolve(address), newest.load(std::memory_order_relaxed)};
        while (!newest.compare_exchange_weak(n->older, n, std::memory_order_release, std::memory_order_relaxed)) {}
    } catch (const std::bad_alloc&) {
        // if memory runs out, the address is not recorded, as the header says
    }
}

code_address resolve_address(const void* address) {
    const code_address* const found = find(address);
    return found != nullptr ? *found : resolve(address);
}

}  // namespace tutti::itm
