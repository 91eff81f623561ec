#include "server/journal/journal.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "server/journal/stream.hpp"

namespace tutti::server::journal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_groups{200};  // time between groups if no answer waits
constexpr milliseconds between_attempts{100};
constexpr milliseconds for_a_gap{1};
constexpr double at_risk = 0.95e9;  // nanoseconds: a second, less a margin because the clock is exact to one percent
constexpr std::size_t max_group_bytes = std::size_t{16} << 20;
constexpr std::size_t overhead = sizeof(record_state);

template <class T>
void push(std::atomic<T*>& on, T& what, T* T::* next) noexcept {
    T* top = on.load(std::memory_order_relaxed);
    do what.*next = top;
    while (!on.compare_exchange_weak(top, &what));
}

std::size_t bytes_of(const stored_reply* a) noexcept { return a == nullptr ? 0 : a->answer.size() + a->key.size(); }

}  // namespace

journal::journal(const log_settings& how, std::function<void(bool, const std::string&)> log)
    : how_{how},
      at_risk_{static_cast<std::uint64_t>(at_risk / base::nanoseconds_per_tick())},
      log_{std::move(log)},
      store_{how.file} {}

journal::~journal() { end(); }

void journal::read_answers(const std::function<void(const stored_reply&)>& take) {
    if (const std::optional<std::int64_t> latest = store_.latest_reply_time()) reply_times_.continue_from(*latest);
    store_.read_answers(take);
}

std::vector<leader_epoch> journal::begin_leader_epoch(bool later_term, const std::optional<handed_over>* latest) {
    std::vector<leader_epoch> all;
    // Locks the file. During a promotion, this server may hear of a later term, and another thread then records that
    // term in the file.
    with_file([&](log_store& file) {
        const std::uint64_t end = file.end();
        all = file.leader_epochs();
        const std::uint64_t term = later_term ? file.latest_term() + 1 : all.empty() ? 1 : all.back().term;
        std::random_device chance;
        const std::uint64_t id = (std::uint64_t{chance()} << 32) | chance() | 1;
        all.push_back({.term = term, .id = id, .first = all.empty() ? 1 : end});
        if (latest == nullptr) file.add_leader_epoch(all.back());
        else file.add_leader_epoch(all.back(), *latest);
    });
    return all;
}

void journal::record_announced_term(std::uint64_t own) {
    std::uint64_t announced = 0;
    with_file([&](log_store& file) { announced = file.announced_term(); });
    if (announced > own) followers_.handle_announced_term(announced, "another server");
}

void journal::begin() { begin(begin_leader_epoch(has_followed_)); }

void journal::begin(const std::optional<handed_over>& latest) { begin(begin_leader_epoch(has_followed_, &latest)); }

void journal::begin(std::vector<leader_epoch> all) {
    const std::uint64_t term = all.back().term;
    std::uint64_t end = 0;
    with_file([&](log_store& file) {
        end = file.end();
        not_in_snapshot_.store(file.snapshot_position());
        bytes_to_replay_.store(file.bytes());
    });
    // The leader's last positions may have been holes, but `next_` must never decrease. Otherwise a follower's call
    // that has read `next_`, and not yet `durable_`, would wait for a position that no call reserves.
    const std::uint64_t next = std::max(end, next_.load());
    next_.store(next);
    durable_.store(next);
    {
        const base::lock_guard guard{reserving_};
        buffer_.begin(next);
        closed_ = false;
    }
    yielded_.store(false);
    thread_ = std::thread{[this] { work(); }};
    if (!has_followed_) followers_.start();
    followers_.lead(std::move(all), has_followed_ ? 0 : how_.await_followers);
    record_announced_term(term);  // a term that this server heard of between its choice of a term and its lead
}

std::uint64_t journal::close() noexcept {
    const base::lock_guard guard{reserving_};
    closed_ = true;
    return next_.load();
}

void journal::reopen() noexcept {
    const base::lock_guard guard{reserving_};
    closed_ = false;
}

void journal::resume_leading() {
    std::vector<leader_epoch> all = begin_leader_epoch(true);
    const std::uint64_t term = all.back().term;
    followers_.lead(std::move(all));
    record_announced_term(term);
    reopen();
}

void journal::yield_lead_to(const std::string& leader) {
    has_followed_ = true;
    yielded_.store(true);  // stored first: see hold_until_durable
    {
        const std::scoped_lock lock{mutex_};
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    {
        const std::scoped_lock lock{mutex_};
        ending_ = false;
    }
    finish_late_waits();
    followers_.follow(leader);
}

/// Ends the waits of calls that began to wait after the journal's thread had checked for such calls for the last time.
/// By then, all reserved positions are durable. A follower's positions are durable before a call sees them (append).
void journal::finish_late_waits() noexcept {
    for (durability_waiter* w = held_.exchange(nullptr); w != nullptr;) {
        durability_waiter* const one = std::exchange(w, w->next_);
        if (one->awaits_ <= durable_.load()) {
            one->finish_wait(durability_waiter::durability_result::durable);
        } else {
            push(held_, *one, &durability_waiter::next_);  // this server leads again, so a thread handles these calls
            request_group();
        }
    }
}

void journal::follow(const std::string& leader) {
    has_followed_ = true;
    const std::uint64_t next = store_.end();
    durable_.store(next);
    next_.store(next);
    not_in_snapshot_.store(store_.snapshot_position());
    bytes_to_replay_.store(store_.bytes());
    followers_.follow(leader);
    followers_.start();
}

void journal::end() noexcept {
    if (thread_.joinable()) {
        {
            const std::scoped_lock lock{mutex_};
            ending_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    followers_.end();
}

void journal::record_written(const group& g, std::size_t calls) noexcept {
    calls_ += calls;
    bytes_ += g.records.size();
    bytes_to_replay_ += g.records.size();
    ++written_groups_;
}

bool journal::append(const log_chunk& from) noexcept {
    if (failure_.is_final()) return false;
    bool is_there = false;
    try {
        const std::scoped_lock lock{file_mutex_};
        std::uint64_t end = store_.end();
        if (!from.groups.empty()) {
            if (from.groups.front().first < end)
                throw log_store_error{"the leader sent calls that are already in the log", false};
            end = from.groups.back().last + 1;
        }
        store_.check_names();
        store_.append(from.groups, from.epochs, from.upto, from.epoch.term, how_.sync != log_sync::never);
        is_there = true;  // even if a later step fails, these groups are in the log and have to be run
        std::optional<std::int64_t> latest;
        for (const group& g : from.groups) {
            record_written(g, 1);
            for (const stored_reply& a : g.answers) latest = std::max(latest.value_or(a.at), a.at);
        }
        if (latest) reply_times_.continue_from(*latest);  // answers carry the time of the leader's clock
        durable_.store(std::max(end, from.upto), std::memory_order_release);
        // stored last, so that a call that reads next_ waits only for durable positions
        next_.store(std::max(end, from.upto));
        checkpoint_file();
        failure_.leave();
    } catch (const log_store_error& e) {
        failure_.enter(e);
    } catch (const std::exception& e) {
        failure_.enter(log_store_error{e.what(), true});
    }
    return is_there;
}

void journal::checkpoint_file() {
    store_.checkpoint_if_long();
    const std::int64_t now = reply_times_.now();
    constexpr std::int64_t a_minute = 60'000'000;
    if (now - answers_forgotten_at_ <= a_minute) return;
    answers_forgotten_at_ = now;
    store_.forget_answers(now - std::chrono::microseconds{how_.reply_cache_ttl}.count(), how_.max_cached_replies);
}

std::size_t journal::pending() const noexcept {
    // The written bytes are loaded first: they were reserved before they were written, so the difference cannot be
    // negative.
    const std::uint64_t written = written_bytes_.load(std::memory_order_acquire);
    return reserved_bytes_.load(std::memory_order_relaxed) - written;
}

bool journal::has_room_for(std::size_t bytes, const stored_reply* answer) const noexcept {
    // A group accepts records until it has max_group_bytes bytes (collect). So the last record of a group may exceed
    // that limit by its whole length.
    return bytes <= store_.max_piece_bytes() - max_group_bytes && bytes_of(answer) <= store_.max_piece_bytes();
}

reserved_record journal::reserve_record(std::size_t bytes, const stored_reply* answer) {
    const base::lock_guard guard{reserving_};
    if (closed_) [[unlikely]]
        throw log_closed_error{};
    const reserved_record at = buffer_.reserve(bytes);
    // If all earlier positions are durable, the new position is the oldest one that is not durable. The journal's
    // thread may only now have made the previous position durable. Then that thread has stored its earlier time in
    // oldest_ before it stored durable_ (write).
    if (durable_.load(std::memory_order_acquire) == at.position)
        oldest_.store(base::ticks(), std::memory_order_relaxed);
    const std::uint64_t all = bytes + bytes_of(answer) + overhead;
    reserved_bytes_.store(reserved_bytes_.load(std::memory_order_relaxed) + all, std::memory_order_relaxed);
    // pairs with JRN4, has_work, and collect: a thread that reads next_ sees the reservation
    next_.store(at.position + 1);
    return at;
}

void journal::submit_record(const reserved_record& at, std::unique_ptr<stored_reply> answer) noexcept {
    log_buffer::set_state(at, record_state::logged, std::move(answer));
    wake_if_idle();
}

void journal::skip_record(const reserved_record& at, std::unique_ptr<stored_reply> answer) noexcept {
    log_buffer::set_state(at, record_state::hole, std::move(answer));
    wake_if_idle();
}

void journal::separate_groups(const reserved_record& at) noexcept {
    log_buffer::set_state(at, record_state::hole | record_state::cut);
    wake_if_idle();
}

// Calls whose answers wait wake the journal's thread themselves (wake_thread). A completed position only ends the sleep
// `for_anything`. So the thread is woken, by a system call, once for each group and not for each record. Either this
// function sees that the thread sleeps, or the thread sees the position, which was reserved before (next_).
void journal::wake_if_idle() noexcept {
    if (how_.sync != log_sync::always && sleep_state_.load() == sleep_state::for_anything) wake_thread();
}

// Pairs with the journal's thread. A calling thread first pushes a call and then reads sleep_state_. The journal's
// thread first sets sleep_state_ and then checks for pushed calls. All accesses are sequentially consistent, so one of
// the two sees the other.
void journal::wake_thread() noexcept {
    if (sleep_state_.load() == sleep_state::none || sleep_state_.exchange(sleep_state::none) == sleep_state::none)
        return;
    {
        const std::scoped_lock lock{mutex_};
        is_woken_ = true;
    }
    changed_.notify_all();
}

void journal::request_group() noexcept {
    groups_.request();
    wake_thread();
}

bool journal::hold_until_durable(durability_waiter& w, std::uint64_t awaits,
                                 const std::atomic<bool>* owner_sleep_flag) noexcept {
    if (how_.sync == log_sync::never) return false;
    w.wrote_ = awaits != 0;
    if (awaits == 0) awaits = next_.load();
    if (durable_.load(std::memory_order_acquire) >= awaits) return false;
    if (how_.sync == log_sync::every_second) {
        const std::uint64_t now = base::ticks(), oldest = oldest_.load();
        if (now <= oldest || now - oldest <= at_risk_) return false;  // JRN4
    }
    w.awaits_ = awaits;
    push(held_, w, &durability_waiter::next_);
    // The journal's thread checks for waiting calls one last time after yielded_ was set. Either this check finds the
    // call, or this function sees that yielded_ is set. Both accesses are sequentially consistent.
    if (yielded_.load()) [[unlikely]] {
        finish_late_waits();
        return true;
    }
    if (sleep_state_.load() == sleep_state::for_a_group) {
        if (awaits >= groups_.awaited_position()) request_group();
        return true;
    }
    // The host sets its flag before it checks for calls (expect_no_more_calls). So either this function sees that the
    // host sleeps, or the host sees the call. Both accesses are sequentially consistent. Under `everysec`, the journal
    // does not use hosts.
    const bool hosted = how_.sync == log_sync::always && owner_sleep_flag != nullptr && !owner_sleep_flag->load();
    if (!hosted) request_group();
    return true;
}

std::chrono::nanoseconds journal::idle_poll_time() const noexcept {
    return groups_.idle_poll_time(next_.load() - durable_.load());
}

void journal::expect_no_more_calls() noexcept {
    if (how_.sync != log_sync::always || held_.load() == nullptr || groups_.is_writing()) return;
    groups_.expect_no_more();
    request_group();
}

void journal::expect_more_calls() noexcept {
    if (groups_.is_overdue(next_.load() - durable_.load())) expect_no_more_calls();
}

std::chrono::nanoseconds journal::max_block_time() const noexcept {
    return how_.sync == log_sync::always ? groups_.max_block_time() : std::chrono::nanoseconds{};
}

journal_statistics journal::statistics() const {
    journal_statistics f;
    f.calls = calls_.load(std::memory_order_relaxed);
    f.bytes = bytes_.load(std::memory_order_relaxed);
    f.groups = written_groups_.load(std::memory_order_relaxed);
    f.snapshots = progress_.statistics();
    f.bytes_to_replay = bytes_to_replay();
    f.next_position = next_.load();
    f.durable_position = durable_.load();
    f.pending_bytes = pending();
    f.error = error();
    return f;
}

bool journal::has_work() const noexcept {
    return held_.load() != nullptr || waiting_ != nullptr || ready_calls_ != 0 || next_.load() != buffer_.consumed();
}

void journal::wait_for_work() {
    std::unique_lock lock{mutex_};
    const auto called = [this] { return is_woken_ || ending_ || snapshot_to_store_.has_value(); };
    if (failure_.exists()) {
        changed_.wait_for(lock, between_attempts, [this] { return ending_; });
    } else if (uncollected_ == uncollected::more) {
        // Continues without waiting, because more positions are ready.
    } else if (uncollected_ == uncollected::missing || waiting_ != nullptr) {
        // Waits only briefly, because the missing record will be complete soon.
        changed_.wait_for(lock, for_a_gap, called);
    } else {
        sleep_state_.store(sleep_state::for_anything);
        // Under `always`, a group begins only if a call waits, because a record without a waiting call belongs to a
        // call that has not ended. Calls that arrived while the latest group was written do not request a group,
        // because that group's clients are about to call again. If these clients do not call, the timeout below begins
        // the group.
        const bool has_request = how_.sync == log_sync::always ? groups_.is_requested() : has_work();
        const bool waits = how_.sync == log_sync::always && held_.load() != nullptr;
        if (!has_request && waits) changed_.wait_for(lock, group_commit_delay::max_delay, called);
        else if (!has_request) changed_.wait(lock, called);
        sleep_state_.store(sleep_state::none);
        if (how_.sync == log_sync::always) {
            gather(lock);
        } else {
            // Waits, unless an answer is waiting, so that many records form one group.
            is_woken_ = false;
            sleep_state_.store(sleep_state::for_a_waiter);
            if (held_.load() == nullptr) changed_.wait_for(lock, between_groups, called);
            sleep_state_.store(sleep_state::none);
        }
    }
    is_woken_ = false;
}

/// Under `always`, waits for more calls when at least one call waits. Calls wake the thread once they reach the
/// expected number.
void journal::gather(std::unique_lock<std::mutex>& lock) {
    const auto called = [this] { return is_woken_ || ending_ || snapshot_to_store_.has_value(); };
    if (groups_.is_complete(next_.load())) return;
    is_woken_ = false;
    sleep_state_.store(sleep_state::for_a_group);
    if (!groups_.is_complete(next_.load())) changed_.wait_for(lock, groups_.delay(), called);
    sleep_state_.store(sleep_state::none);
}

void journal::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-journal");
    constexpr unsigned long a_microsecond = 1000;
    ::prctl(PR_SET_TIMERSLACK, a_microsecond);  // a group's delay is often shorter than the default slack of 50 µs
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (bool last = false; !last;) {
        wait_for_work();
        {
            const std::scoped_lock lock{mutex_};
            last = ending_;
        }
        do {
            groups_.begin_cycle();
            collected_at_ = base::ticks();
            // The waiting calls are collected before the records. A call reserves its position before it waits, so the
            // records of all collected calls are found.
            durability_waiter* held = held_.exchange(nullptr);
            while (held != nullptr) {
                durability_waiter* const one = std::exchange(held, held->next_);
                one->next_ = std::exchange(waiting_, one);
            }
            const bool collected = collect();
            const bool written = write(last || how_.sync != log_sync::never);
            if (collected && written) failure_.leave();
            write_snapshot();
            groups_.end_cycle(buffer_.consumed());
            finish_waits();
        } while (last && has_work() && !failure_.exists());
    }
    if (yielded_.load()) return;  // everything is written, and the server continues
    // The executor has ended every call, so no position is missing. Calls that still wait could not be written.
    waits_for_disk_no_more_.store(true);
    failure_.enter_at_end();
    finish_waits();
}

bool journal::collect() noexcept {
    // Reads next_ after the clock was read for collected_at_, so calls with later positions are answered after that
    // time.
    const std::uint64_t upto = next_.load(std::memory_order_acquire);
    uncollected_ = uncollected::nothing;
    try {
        while (buffer_.consumed() < upto) {
            if (ready_ends_ || ready_.records.size() >= max_group_bytes) {
                uncollected_ = uncollected::more;
                break;
            }
            const complete_range some = buffer_.find_complete(upto, max_group_bytes - ready_.records.size());
            if (some.positions == 0) {
                uncollected_ = uncollected::missing;
                break;
            }
            collect(some);
        }
        return true;
    } catch (const std::bad_alloc&) {
        failure_.enter(log_store_error{"out of memory for the log", true});
    }
    return false;
}

void journal::collect(const complete_range& some) {
    if (some.answer != nullptr && ready_.answers.capacity() == ready_.answers.size())
        ready_.answers.reserve(2 * ready_.answers.size() + 1);  // the steps below must not fail half-way
    ready_.records.append(some.records);
    if (!some.records.empty()) {
        if (ready_calls_ == 0) ready_.first = buffer_.consumed();
        ready_calls_ += some.positions;
        ready_.last = buffer_.consumed() + some.positions - 1;
    }
    if (some.answer != nullptr) {
        const std::unique_ptr<stored_reply> owned{some.answer};
        ready_bytes_ += bytes_of(some.answer);
        if (!some.records.empty()) ready_.answers.push_back(std::move(*owned));
    }
    // A group must not have positions on both sides of a cut, because a follower that has copied the snapshot fetches
    // groups from the cut on.
    ready_ends_ = some.cut && ready_calls_ != 0;
    ready_bytes_ += some.reserved + some.positions * overhead;
    buffer_.consume(some);
}

bool journal::write(bool sync) noexcept {
    if (failure_.is_final()) return false;
    try {
        const std::scoped_lock lock{file_mutex_};
        if (ready_calls_ != 0) {
            const std::uint64_t began = base::ticks();
            store_.check_names();
            store_.add({&ready_, 1}, sync);
            const auto took = static_cast<double>(base::ticks() - began) * base::nanoseconds_per_tick();
            groups_.record_written(ready_calls_, next_.load() - buffer_.consumed(),
                                   group_commit::duration{static_cast<std::int64_t>(took)});
            record_written(ready_, ready_calls_);
            ready_.records.clear();
            ready_.answers.clear();
            ready_calls_ = 0;
            ready_ends_ = false;
        }
        // If nothing is left over, everything reserved before collected_at_ is in the file. oldest_ is stored before
        // durable_. A call that finds everything durable stores a later time in oldest_ (reserve_record), and this
        // store must not overwrite that later time.
        if (uncollected_ == uncollected::nothing) oldest_.store(collected_at_, std::memory_order_relaxed);
        written_bytes_.store(written_bytes_.load(std::memory_order_relaxed) + std::exchange(ready_bytes_, 0),
                             std::memory_order_release);
        durable_.store(buffer_.consumed());  // sequentially consistent for on_durable
        followers_.on_durable();
        checkpoint_file();
        return true;
    } catch (const log_store_error& e) {
        failure_.enter(e);
    } catch (const std::exception& e) {
        failure_.enter(log_store_error{e.what(), true});
    }
    return false;
}

void journal::finish_waits() noexcept {
    const std::uint64_t durable = durable_.load(std::memory_order_relaxed);
    const bool failed = failure_.exists();
    const bool all = failure_.is_final() || (failed && waits_for_disk_no_more_.load());
    durability_waiter* left = nullptr;
    while (waiting_ != nullptr) {
        durability_waiter* const one = std::exchange(waiting_, waiting_->next_);
        if (one->awaits_ <= durable) one->finish_wait(durability_waiter::durability_result::durable);
        else if (all || (failed && !one->wrote_)) one->finish_wait(durability_waiter::durability_result::unknown);
        else one->next_ = std::exchange(left, one);
    }
    waiting_ = left;
}

}  // namespace tutti::server::journal
