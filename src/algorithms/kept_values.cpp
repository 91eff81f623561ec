#include "algorithms/kept_values.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/exchange_pair.hpp"
#include "base/panic.hpp"

namespace tutti::algorithms {
namespace {

constexpr word tag_mask = (word{1} << kept_values::tag_bits) - 1;
constexpr unsigned address_bits = 47;
constexpr unsigned cells_searched = 16;  // of each level

constinit std::atomic<std::size_t> mapped{0};

/// The cells of one level in the order in which a search visits them: four neighbours from the home of the word, then
/// four after a jump, and so on. Neighbours share a cache line, so a scan visits the lines in order. Memory allocators
/// place blocks at multiples of large powers of two, so the home cells of several blocks coincide. Their jumps differ.
class search_order {
public:
    search_order(const word* address, std::size_t cells) noexcept
        : home_{reinterpret_cast<std::uintptr_t>(address) >> 4},
          jump_{((home_ >> 8) * 0x9e3779b97f4a7c15 >> 40) | 1},
          mask_{cells - 1} {}
    [[nodiscard]] std::size_t operator[](unsigned i) const noexcept {
        return static_cast<std::size_t>(home_ + i % 4 + i / 4 * jump_) & mask_;
    }

private:
    word home_;
    word jump_;
    std::size_t mask_;
};

[[nodiscard]] std::size_t limit_from(std::string_view text) noexcept {
    constexpr std::size_t max_mebibytes = std::size_t{1} << 40;
    std::size_t mebibytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mebibytes);
    if (error != std::errc{} || end != text.data() + text.size() || mebibytes == 0 || mebibytes > max_mebibytes) {
        base::panic(
            "TUTTI_SNAPSHOT_MEMORY: not a number of MiB from 1; it limits the memory for the values that are kept for "
            "snapshots, 1/16 of the machine's memory by default");
    }
    return mebibytes << 20;
}

[[nodiscard]] bool has_key(const word* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) >> address_bits == 0;
}
[[nodiscard]] word key_of(const word* address, word tag) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) >> 3 << kept_values::tag_bits | tag;
}

}  // namespace

kept_values::cell* kept_values::table(std::uint32_t level) noexcept {
    if (cell* const there = tables_[level].load(std::memory_order_acquire)) return there;
    const std::size_t size = cells_of(level) * sizeof(cell);
    std::size_t before = mapped.load(std::memory_order_relaxed);
    do {
        if (before + size > kept_values_limit()) return tables_[level].load(std::memory_order_acquire);
    } while (!mapped.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
    void* const made =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
        mapped.fetch_sub(size, std::memory_order_relaxed);
        return nullptr;
    }
    cell* there = nullptr;
    if (tables_[level].compare_exchange_strong(there, static_cast<cell*>(made), std::memory_order_acq_rel))
        return static_cast<cell*>(made);
    ::munmap(made, size);  // another writer was faster, and this table was never reachable
    mapped.fetch_sub(size, std::memory_order_relaxed);
    return there;
}

bool kept_values::keep(word tag, std::uint32_t first, const word* address, word value) noexcept {
    if (!has_key(address)) return false;
    const word key = key_of(address, tag);
    for (std::uint32_t level = first; level < levels; ++level) {
        cell* const cells = table(level);
        if (cells == nullptr) return false;
        const search_order order{address, cells_of(level)};
        for (unsigned i = 0; i < cells_searched; ++i) {
            cell& c = cells[order[i]];
            for (;;) {
                const word seen = c.key.load(std::memory_order_acquire);
                if (seen == key || (seen & tag_mask) > tag) return true;
                if ((seen & tag_mask) == tag) break;
                const word old_value = c.value.load(std::memory_order_relaxed);
                [[maybe_unused]] const detail::interleaving_lock turn;
                if (!base::exchange_pair(&c, {seen, old_value}, {key, value})) continue;
                if (largest_used() < level) largest_used_.store(level, std::memory_order_relaxed);
                return true;
            }
        }
    }
    return false;
}

bool kept_values::find(word tag, std::uint32_t first, const word* address, word& value) const noexcept {
    if (!has_key(address)) return false;
    const word key = key_of(address, tag);
    for (std::uint32_t level = first; level < levels; ++level) {
        const cell* const cells = tables_[level].load(std::memory_order_acquire);
        if (cells == nullptr) return false;
        const search_order order{address, cells_of(level)};
        for (unsigned i = 0; i < cells_searched; ++i) {
            const cell& c = cells[order[i]];
            const word seen = c.key.load(std::memory_order_acquire);
            if (seen == key) {
                // Relaxed: writers do not replace a cell of an announced snapshot.
                value = c.value.load(std::memory_order_relaxed);
                return true;
            }
            if ((seen & tag_mask) != tag) return false;  // KEP1
        }
    }
    return false;
}

bool kept_values::drop_level(std::uint32_t level) noexcept {
    cell* const cells = tables_[level].load(std::memory_order_acquire);
    return cells == nullptr || ::madvise(cells, cells_of(level) * sizeof(cell), MADV_DONTNEED) == 0;
}

void kept_values::recycle() noexcept {
    for (std::uint32_t level = 0; level < levels; ++level) {
        if (drop_level(level)) continue;
        cell* const cells = tables_[level].load(std::memory_order_acquire);
        for (std::size_t i = 0; i < cells_of(level); ++i) cells[i].key.reset(0);
    }
}

std::size_t kept_values_limit() noexcept {
    static const std::size_t limit = [] {
        if (const char* const text = std::getenv("TUTTI_SNAPSHOT_MEMORY"); text != nullptr && *text != '\0')
            return limit_from(text);
        return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) /
               16;
    }();
    return limit;
}

std::size_t kept_values_size() noexcept { return mapped.load(std::memory_order_relaxed); }

}  // namespace tutti::algorithms
