#include "preempt/stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "preempt/sanitizers.hpp"

namespace tutti::preempt {
namespace {

constexpr std::size_t below =
    stack::guard_bytes + stack::termination_area_bytes + stack::reserves * stack::reserve_bytes;

bool open(char* from, std::size_t bytes) noexcept { return ::mprotect(from, bytes, PROT_READ | PROT_WRITE) == 0; }

}  // namespace

stack::stack(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (bytes + page - 1) / page * page;
    mapping_bytes_ = bytes_ + below;
    void* const m =
        ::mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (m == MAP_FAILED) throw std::bad_alloc{};
    mapping_ = static_cast<char*>(m);
    if (!open(bottom(), bytes_)) {
        ::munmap(mapping_, mapping_bytes_);
        throw std::bad_alloc{};
    }
}

stack::~stack() { ::munmap(mapping_, mapping_bytes_); }

bool stack::open_reserve() noexcept {
    if (open_reserves_ == reserves) return false;
    if (!open(const_cast<char*>(next_lower_end()), reserve_bytes)) return false;
    ++open_reserves_;
    return true;
}

char* stack::open_termination_area() noexcept {
    char* const from = mapping_ + guard_bytes;
    if (!termination_area_is_open_) termination_area_is_open_ = open(from, termination_area_bytes);
    return termination_area_is_open_ ? from + termination_area_bytes : nullptr;
}

void stack::close() noexcept {
    if (open_reserves_ == 0 && !termination_area_is_open_) return;
    char* const from = mapping_ + guard_bytes;
    constexpr std::size_t length = termination_area_bytes + reserves * reserve_bytes;
#if defined(TUTTI_ASAN)
    __asan_unpoison_memory_region(from, length);
#endif
    ::madvise(from, length, MADV_DONTNEED);
    ::mprotect(from, length, PROT_NONE);
    open_reserves_ = 0;
    termination_area_is_open_ = false;
}

}  // namespace tutti::preempt
