// Operators that count living allocations. They are compiled without -fgnu-tm, as a program's own operators usually
// are: the runtime has the transactional clones.
#include <atomic>
#include <cstdlib>
#include <new>

std::atomic<long> objects{0};

void* operator new(std::size_t size) {
    ++objects;
    if (void* const p = std::malloc(size)) return p;
    throw std::bad_alloc{};
}
void operator delete(void* p) noexcept {
    if (p != nullptr) --objects;
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
