#include "server/net/worker_io.hpp"

#include <algorithm>

#include "server/net/io_thread.hpp"

namespace tutti::server {

bool worker_io::run_idle(const idle_wakeup& of) noexcept {
    return has_threads() && std::ranges::any_of(threads_, [&](io_thread* t) { return t->run_on_worker(of); });
}

void worker_io::wake() noexcept {
    if (!has_threads()) return;
    for (io_thread* const t : threads_) t->wake();
}

}  // namespace tutti::server
