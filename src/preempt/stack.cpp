#include "preempt/stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace tutti::preempt {

stack::stack(std::size_t bytes) : guard_bytes_{static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))} {
    mapping_bytes_ = (bytes + guard_bytes_ - 1) / guard_bytes_ * guard_bytes_ + guard_bytes_;
    void* const m = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (m == MAP_FAILED) throw std::bad_alloc{};
    mapping_ = static_cast<char*>(m);
    if (::mprotect(mapping_, guard_bytes_, PROT_NONE) != 0) {
        ::munmap(mapping_, mapping_bytes_);
        throw std::bad_alloc{};
    }
}

stack::~stack() { ::munmap(mapping_, mapping_bytes_); }

}  // namespace tutti::preempt
