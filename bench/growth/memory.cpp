// Measures how much memory a thread keeps after a large transaction: immediately afterwards, and after 10,000 small
// transactions.
#include <malloc.h>

#include <cstdint>
#include <vector>

#include <tutti/tutti.hpp>

#include "growth/curves.hpp"

namespace bench::growth {
namespace {

using tutti::tx;

/// Returns all memory that malloc has allocated.
std::size_t bytes_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

double kept_after(const point& p, unsigned small_ones) {
    std::vector<tutti::var<std::uint64_t>> all(p.size);
    const auto bump = [&all](std::size_t count) {
        tutti::atomically([&](tx& t) {
            for (std::size_t i = 0; i != count; ++i) all[i].set(t, all[i].get(t) + 1);
        });
    };
    bump(1);
    const std::size_t before = bytes_in_use();
    bump(p.size);
    for (unsigned i = 0; i != small_ones; ++i) bump(1);
    const std::size_t after = bytes_in_use();
    return after > before ? static_cast<double>(after - before) : 0;
}

[[maybe_unused]] const bool added = add({
    {.family = "memory",
     .name = "kept",
     .of = "kept, a read and write",
     .over = "reads and writes",
     .run = [](const point& p) { return kept_after(p, 0); },
     .bytes = true},
    {.family = "memory",
     .name = "kept-later",
     .of = "kept after 10,000 small ones",
     .over = "reads and writes",
     .expected = due::constant,
     .run = [](const point& p) { return kept_after(p, 10'000); },
     .bytes = true},
});

}  // namespace
}  // namespace bench::growth
