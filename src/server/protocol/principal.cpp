#include "server/protocol/principal.hpp"

#include <algorithm>

#include "server/protocol/accounts.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The inverse of the share of an I/O thread's time that a principal may use: a tenth, or half for an admin.
constexpr int time_per_use = 10, time_per_use_of_operator = 2;
/// A principal's next command does not wait while the principal's debt is at most this time.
constexpr nanoseconds attention_credit = milliseconds{20};
/// The maximum time that is charged for one command, because the system may have suspended the thread during the
/// command.
constexpr nanoseconds max_charge = milliseconds{10};

std::int64_t steady_nanoseconds(instant when) noexcept { return nanoseconds{when.time_since_epoch()}.count(); }

}  // namespace

instant principal::next_command_at(instant now) const noexcept {
    const std::int64_t from = even_pace_.load(std::memory_order_relaxed) - attention_credit.count();
    return from <= steady_nanoseconds(now) ? now : instant{nanoseconds{from}};
}

void principal::charge(instant now, nanoseconds took) noexcept {
    const nanoseconds step =
        std::clamp(took, nanoseconds{0}, max_charge) * (is_admin_ ? time_per_use_of_operator : time_per_use);
    std::int64_t before = even_pace_.load(std::memory_order_relaxed);
    while (!even_pace_.compare_exchange_weak(before, std::max(before, steady_nanoseconds(now)) + step.count(),
                                             std::memory_order_relaxed)) {}
}

bool principal::has_no_debt(instant now) const noexcept {
    return even_pace_.load(std::memory_order_relaxed) <= steady_nanoseconds(now);
}

std::shared_ptr<principal> principals::of(const account& user) {
    const std::scoped_lock lock{mutex_};
    std::shared_ptr<principal>& found = users_[user.configured.name];
    // A user with a higher maximum priority has a larger part of the memory.
    if (found == nullptr)
        found = std::make_shared<principal>("user '" + user.configured.name + "'",
                                            1 + static_cast<unsigned>(user.configured.max_priority),
                                            user.configured.is_admin);
    return found;
}

std::shared_ptr<principal> principals::at(const std::string& address, instant now) {
    const std::scoped_lock lock{mutex_};
    if (const auto known = addresses_.find(address); known != addresses_.end()) return known->second;
    if (addresses_.size() >= sweep_at_) {
        // If the use count is one, only the table has a reference, and only a thread with the mutex can increase the
        // count. Without connections, no call is added. The fence orders the check of calls after the end of the last
        // connection, which counted its calls before it released its reference. The fence is necessary because
        // use_count() is a relaxed load.
        std::erase_if(addresses_, [now](const auto& one) {
            if (one.second.use_count() != 1) return false;
            std::atomic_thread_fence(std::memory_order_acquire);
            return one.second->has_no_calls() && one.second->has_no_debt(now);
        });
        sweep_at_ = std::max<std::size_t>(64, 2 * addresses_.size());
    }
    auto made = std::make_shared<principal>("address " + address, 1, false);
    addresses_.emplace(address, made);
    return made;
}

std::size_t principals::size() const {
    const std::scoped_lock lock{mutex_};
    return users_.size() + addresses_.size();
}

}  // namespace tutti::server
