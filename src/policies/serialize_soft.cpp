#include "policies/serialize_soft.hpp"

#include <algorithm>
#include <vector>

#include "base/lock.hpp"
#include "base/never_destroyed.hpp"
#include "base/scheduling.hpp"
#include "policies/self_abort.hpp"

namespace tutti::policies {
namespace {

struct defeat {
    const core::descriptor* loser;
    const core::descriptor* winner;
    int thread;  // the loser's thread
    int nice;    // its former nice value
};

/// The matrix of defeats. A transaction that has not lost to any other transaction reads only `size`.
struct conflicts {
    base::lock lock;
    std::vector<defeat> all;
    detail::shared<std::size_t> size{0};

    void changed() noexcept { size.store(all.size(), std::memory_order_relaxed); }
    /// Finds an entry of the thread. A thread may have lost on several descriptors, because an undo action may lose
    /// after its block has lost.
    [[nodiscard]] auto of_thread(int thread) noexcept {
        return std::find_if(all.begin(), all.end(), [&](const defeat& c) { return c.thread == thread; });
    }
};

constinit base::never_destroyed<conflicts> matrix;

void note(core::descriptor& self, const core::descriptor& winner) {
    conflicts& m = matrix.value;
    const base::lock_guard guard{m.lock};
    const auto first = m.of_thread(base::thread_number());
    defeat entry{&self, &winner, base::thread_number(), 0};
    if (first != m.all.end()) {
        if (std::any_of(first, m.all.end(), [&](const defeat& c) { return c.loser == &self && c.winner == &winner; })) {
            return;
        }
        entry.nice = first->nice;
        m.all.push_back(entry);
    } else {
        // Memory is reserved before the priority is lowered, so that the list contains every lowered priority.
        m.all.reserve(m.all.size() + 1);
        const std::optional<int> nice = base::lower_priority();
        if (!nice) return;
        entry.nice = *nice;
        m.all.push_back(entry);
    }
    m.changed();
}

void pause_at_lower_priority(core::descriptor& self) noexcept {
    if (self.run.blocked_by.awaited != nullptr) {
        try {
            core::in_critical_region(self, [&] { note(self, *self.run.blocked_by.awaited); });
        } catch (const std::bad_alloc&) {
            // If memory runs out, the loser only yields the processor.
        }
    }
    pause_by_yielding(self);
}

/// Makes every commit call `end`, because a loser may be waiting for that commit.
void request_end_event(core::descriptor& self) noexcept { self.slow_commit |= core::slow_commit_restarted; }

void forget(const core::descriptor& self) noexcept {
    conflicts& m = matrix.value;
    const base::lock_guard guard{m.lock};
    for (std::size_t i = 0; i < m.all.size();) {
        const defeat c = m.all[i];
        if (c.loser != &self && c.winner != &self) {
            ++i;
            continue;
        }
        m.all[i] = m.all.back();
        m.all.pop_back();
        if (m.of_thread(c.thread) == m.all.end()) base::restore_priority(c.thread, c.nice);
    }
    m.changed();
}

void clear_row_and_column(core::descriptor& self) noexcept {
    if (matrix.value.size.load(std::memory_order_relaxed) == 0) return;
    core::in_critical_region(self, [&] { forget(self); });
}

/// Locks the matrix during a fork. In the child, restores this thread's priority, because the winners for which the
/// thread waits do not exist there.
void on_fork(core::copying step, const core::descriptor* self) noexcept {
    conflicts& m = matrix.value;
    switch (step) {
        case core::copying::begins: m.lock.acquire(); break;
        case core::copying::in_child:
            for (const defeat& c : m.all) {
                if (c.loser == self) base::restore_priority(base::thread_number(), c.nice);
            }
            m.all.clear();
            m.changed();
            break;
        case core::copying::is_over: m.lock.unlock(); break;
    }
}

}  // namespace

const core::policy serialize_soft{.name = "serialize-soft",
                                  .summary = "run at a lower priority until the winners have committed",
                                  .conflict = choose_self_abort,
                                  .pause = pause_at_lower_priority,
                                  .start = request_end_event,
                                  .end = clear_row_and_column,
                                  .copy = on_fork,
                                  .remote = remote_self_abort};

}  // namespace tutti::policies
