#include "preempt/code_map.hpp"

#include <link.h>

#include <stdexcept>

namespace tutti::preempt {
namespace {

/// What is found is added after the search, which runs under a lock of the dynamic linker's.
struct search {
    static constexpr std::size_t most = 8;
    std::uintptr_t address;
    std::size_t found = 0;
    const char* begin[most] = {};
    std::size_t bytes[most] = {};
};

bool is_code(const ElfW(Phdr) & segment) noexcept { return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0; }

int look_at(dl_phdr_info* object, std::size_t, void* of) {
    auto& s = *static_cast<search*>(of);
    bool here = false;
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
        here = here || (segment.p_type == PT_LOAD && s.address - begin < segment.p_memsz);
    }
    if (!here) return 0;
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        if (!is_code(segment) || s.found == search::most) continue;
        s.begin[s.found] = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
        s.bytes[s.found] = segment.p_memsz;
        ++s.found;
    }
    return 1;
}

}  // namespace

void code_map::add(const void* begin, const void* end) {
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t length = reinterpret_cast<std::uintptr_t>(end) - from;
    const std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
        if (ranges_[i].begin == from && ranges_[i].length == length) return;
    }
    if (count == most_ranges) throw std::length_error{"tutti: too many ranges of application code"};
    ranges_[count] = {from, length};
    count_.store(count + 1, std::memory_order_release);  // partner: the acquire in `contains`
    if (tell_ != nullptr) tell_(from, from + length);
}

bool code_map::add_object_of(const void* address) {
    search s{reinterpret_cast<std::uintptr_t>(address)};
    if (::dl_iterate_phdr(look_at, &s) != 1) return false;
    for (std::size_t i = 0; i < s.found; ++i) add(s.begin[i], s.begin[i] + s.bytes[i]);
    return true;
}

}  // namespace tutti::preempt
