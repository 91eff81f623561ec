#include "server/calls/huge_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace tutti::server {
namespace {

#if defined(MADV_COLLAPSE)
constexpr int collapse = MADV_COLLAPSE;
#else
constexpr int collapse = 25;  // the number in Linux, for C libraries that lack it
#endif
constexpr std::uintptr_t page = 4096, huge = std::uintptr_t{2} << 20;
constexpr std::size_t pages = huge / page;
constexpr std::size_t enough_pages = pages / 8 * 7;  // number of used pages, so that memory grows by at most a seventh
// A call of a procedure that touches a page waits while the page is collapsed. So after each page, this thread sleeps
// for rest_factor times the duration of the collapse. longest_rest limits the sleep, because the shutdown of the server
// waits for this thread.
constexpr int rest_factor = 4;
constexpr std::chrono::milliseconds longest_rest{100};
constexpr std::uintptr_t little = std::uintptr_t{64} << 20;  // with less memory, a fork is short anyway

struct range {
    std::uintptr_t begin, end;
};

/// Returns the memory of the machine in bytes. A range of addresses that is larger is only reserved, for example by a
/// sanitizer.
std::uintptr_t bytes_of_machine() {
    return static_cast<std::uintptr_t>(::sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns the ranges of whole huge pages in writable memory that is not backed by a file.
std::vector<range> ranges_of_memory() {
    std::vector<range> all;
    std::ifstream maps{"/proc/self/maps"};
    const std::uintptr_t most = bytes_of_machine();
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        range r{};
        char dash = 0;
        std::string rights, offset, device, name;
        std::uint64_t node = 0;
        words >> std::hex >> r.begin >> dash >> r.end >> rights >> offset >> device >> std::dec >> node >> name;
        const bool is_heap = name.empty() || name == "[heap]" || name.starts_with("[anon");
        if (rights != "rw-p" || node != 0 || !is_heap) continue;
        r.begin = (r.begin + huge - 1) / huge * huge;
        r.end = r.end / huge * huge;
        if (r.begin < r.end && r.end - r.begin <= most) all.push_back(r);
    }
    return all;
}

/// Shows which pages are in use.
class page_map {
public:
    page_map() : file_{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)} {}
    ~page_map() {
        if (file_ >= 0) ::close(file_);
    }
    page_map(const page_map&) = delete;
    page_map& operator=(const page_map&) = delete;

    /// Returns true if most of the huge page at `at` is in use.
    [[nodiscard]] bool is_dense(std::uintptr_t at) const {
        std::array<std::uint64_t, pages> entries;
        constexpr std::uint64_t is_there = std::uint64_t{1} << 63;
        const auto where = static_cast<::off_t>(at / page * sizeof entries[0]);
        if (::pread(file_, entries.data(), sizeof entries, where) != static_cast<::ssize_t>(sizeof entries))
            return false;
        const auto used = std::ranges::count_if(entries, [](std::uint64_t e) { return (e & is_there) != 0; });
        return static_cast<std::size_t>(used) >= enough_pages;
    }

private:
    const int file_;
};

}  // namespace

void collapse_into_huge_pages(const std::function<bool()>& is_over) {
    if (::sysconf(_SC_PAGESIZE) != static_cast<long>(page)) return;
    const page_map used;
    std::vector<std::uintptr_t> dense;
    for (const range& r : ranges_of_memory()) {
        for (std::uintptr_t at = r.begin; at < r.end; at += huge) {
            if (used.is_dense(at)) dense.push_back(at);
        }
    }
    if (dense.size() * huge < little) return;
    for (const std::uintptr_t at : dense) {
        if (is_over()) return;
        const auto began = std::chrono::steady_clock::now();
        // A page cannot be collapsed if memory is short, or if another thread has freed it. In both cases the page
        // stays as it is.
        static_cast<void>(::madvise(reinterpret_cast<void*>(at), huge, collapse));
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(rest_factor * took, longest_rest));
    }
}

}  // namespace tutti::server
