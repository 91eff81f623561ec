#include "server/net/deputies.hpp"

#include <algorithm>

#include "server/net/io_thread.hpp"

namespace tutti::server {

bool deputies::spend(const attention& of) noexcept {
    return is_open() && std::ranges::any_of(threads_, [&](io_thread* t) { return t->stand_in(of); });
}

void deputies::recall() noexcept {
    if (!is_open()) return;
    for (io_thread* const t : threads_) t->wake();
}

}  // namespace tutti::server
