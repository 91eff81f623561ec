#include "server/journal/journal.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <random>
#include <utility>

#include "server/journal/stream.hpp"

namespace tutti::server::journal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_groups{200};  // time between groups if no answer waits
constexpr milliseconds between_attempts{100};
constexpr milliseconds for_a_gap{1};
constexpr double at_risk = 0.95e9;  // nanoseconds: a second, less a margin because the clock is exact to one percent
constexpr std::size_t most_in_group = std::size_t{16} << 20;
constexpr std::size_t overhead = sizeof(mark);

template <class T>
void push(std::atomic<T*>& on, T& what, T* T::* next) noexcept {
    T* top = on.load(std::memory_order_relaxed);
    do what.*next = top;
    while (!on.compare_exchange_weak(top, &what));
}

std::size_t bytes_of(const kept_answer* a) noexcept { return a == nullptr ? 0 : a->answer.size() + a->key.size(); }

}  // namespace

journal::journal(const log_settings& how, std::function<void(bool, const std::string&)> tell)
    : how_{how},
      at_risk_{static_cast<std::uint64_t>(at_risk / base::nanoseconds_per_tick())},
      longest_wait_{
          static_cast<std::uint64_t>(static_cast<double>(gathering::longest.count()) / base::nanoseconds_per_tick())},
      tell_{std::move(tell)},
      store_{how.file} {}

journal::~journal() { end(); }

void journal::read_answers(const std::function<void(const kept_answer&)>& take) {
    if (const std::optional<std::int64_t> latest = store_.latest_answer()) times_.begin_at(*latest);
    store_.read_answers(take);
}

std::vector<branch> journal::begin_branch(bool later_term, const std::optional<handed_over>* latest) {
    std::vector<branch> all;
    // While a follower is being promoted, it hears of terms and notes them in the file.
    with_file([&](store& file) {
        const std::uint64_t end = file.end();
        all = file.branches();
        const std::uint64_t term = later_term ? file.latest_term() + 1 : all.empty() ? 1 : all.back().term;
        std::random_device chance;
        const std::uint64_t id = (std::uint64_t{chance()} << 32) | chance() | 1;
        all.push_back({.term = term, .id = id, .first = all.empty() ? 1 : end});
        if (latest == nullptr) file.add_branch(all.back());
        else file.add_branch(all.back(), *latest);
    });
    return all;
}

void journal::heed_heard_term(std::uint64_t own) {
    std::uint64_t heard = 0;
    with_file([&](store& file) { heard = file.heard_term(); });
    if (heard > own) others_.hear(heard, "another server");
}

void journal::begin() { begin(begin_branch(followed_)); }

void journal::begin(const std::optional<handed_over>& latest) { begin(begin_branch(followed_, &latest)); }

void journal::begin(std::vector<branch> all) {
    const std::uint64_t term = all.back().term;
    std::uint64_t end = 0;
    with_file([&](store& file) {
        end = file.end();
        not_in_snapshot_.store(file.snapshot_position());
        bytes_to_replay_.store(file.bytes());
    });
    // `next_` never decreases, although the leader's last positions may have been holes. Otherwise a follower's call
    // that has read `next_`, but not yet durable_, would wait for a position that no call draws.
    const std::uint64_t next = std::max(end, next_.load());
    next_.store(next);
    durable_.store(next);
    {
        const base::lock_guard guard{drawing_};
        tail_.begin(next);
        closed_ = false;
    }
    yielded_.store(false);
    thread_ = std::thread{[this] { work(); }};
    if (!followed_) others_.start();
    others_.lead(std::move(all), followed_ ? 0 : how_.await_followers);
    heed_heard_term(term);  // heard before it led, and after it had chosen its term
}

std::uint64_t journal::close() noexcept {
    const base::lock_guard guard{drawing_};
    closed_ = true;
    return next_.load();
}

void journal::reopen() noexcept {
    const base::lock_guard guard{drawing_};
    closed_ = false;
}

void journal::lead_again() {
    std::vector<branch> all = begin_branch(true);
    const std::uint64_t term = all.back().term;
    others_.lead(std::move(all));
    heed_heard_term(term);
    reopen();
}

void journal::yield_to(const std::string& leader) {
    followed_ = true;
    yielded_.store(true);  // comes first: see holds
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
    pass_on_late();
    others_.follow(leader);
}

/// Passes on the calls that came after the last look of the journal's thread. All drawn positions are durable by then,
/// and a follower's positions are durable before a call sees them (append).
void journal::pass_on_late() noexcept {
    for (waiter* w = held_.exchange(nullptr); w != nullptr;) {
        waiter* const one = std::exchange(w, w->next_);
        if (one->awaits_ <= durable_.load()) {
            one->pass_on(waiter::outcome::kept);
        } else {
            push(held_, *one, &waiter::next_);  // this server leads again, so a thread handles these calls
            ask();
        }
    }
}

void journal::follow(const std::string& leader) {
    followed_ = true;
    const std::uint64_t next = store_.end();
    durable_.store(next);
    next_.store(next);
    not_in_snapshot_.store(store_.snapshot_position());
    bytes_to_replay_.store(store_.bytes());
    others_.follow(leader);
    others_.start();
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
    others_.end();
}

void journal::note_written(const group& g, std::size_t calls) noexcept {
    calls_ += calls;
    bytes_ += g.records.size();
    bytes_to_replay_ += g.records.size();
    ++groups_;
}

bool journal::append(const piece& from) noexcept {
    if (broken_) return false;
    bool is_there = false;
    try {
        const std::scoped_lock lock{file_mutex_};
        std::uint64_t end = store_.end();
        if (!from.groups.empty()) {
            if (from.groups.front().first < end)
                throw store_error{"the leader sent calls that the log has already", false};
            end = from.groups.back().last + 1;
        }
        store_.need_names();
        store_.append(from.groups, from.branches, from.upto, from.now.term, how_.sync != log_sync::never);
        is_there = true;  // even if a later step fails, these groups are to be run and are not appended again
        std::optional<std::int64_t> latest;
        for (const group& g : from.groups) {
            note_written(g, 1);
            for (const kept_answer& a : g.answers) latest = std::max(latest.value_or(a.at), a.at);
        }
        if (latest) times_.begin_at(*latest);  // answers carry the time of the leader's clock
        durable_.store(std::max(end, from.upto), std::memory_order_release);
        // last, so that a call that reads next_ waits only for durable positions
        next_.store(std::max(end, from.upto));
        tidy_file();
        leave_trouble();
    } catch (const store_error& e) {
        enter_trouble(e);
    } catch (const std::exception& e) {
        enter_trouble(store_error{e.what(), true});
    }
    return is_there;
}

void journal::tidy_file() {
    store_.tidy();
    const std::int64_t now = times_.now();
    constexpr std::int64_t a_minute = 60'000'000;
    if (now - answers_forgotten_at_ <= a_minute) return;
    answers_forgotten_at_ = now;
    store_.forget_answers(now - std::chrono::microseconds{how_.answers_for}.count(), how_.answers);
}

std::size_t journal::pending() const noexcept {
    // The order of the loads matters: everything written was drawn before.
    const std::uint64_t written = written_bytes_.load(std::memory_order_acquire);
    return drawn_bytes_.load(std::memory_order_relaxed) - written;
}

bool journal::takes(std::size_t bytes, const kept_answer* answer) const noexcept {
    // The last record of a group joins records that have not yet reached most_in_group bytes (collect).
    return bytes <= store_.longest() - most_in_group && bytes_of(answer) <= store_.longest();
}

place journal::draw(std::size_t bytes, const kept_answer* answer) {
    const base::lock_guard guard{drawing_};
    if (closed_) [[unlikely]]
        throw draws_no_more{};
    const place at = tail_.reserve(bytes);
    // This is the oldest position on its way to the disk. The journal's thread may be making the position before it
    // durable at this moment. Then that thread has found an earlier time, and has stored that time before durable_
    // (write).
    if (durable_.load(std::memory_order_acquire) == at.position)
        oldest_.store(base::ticks(), std::memory_order_relaxed);
    const std::uint64_t all = bytes + bytes_of(answer) + overhead;
    drawn_bytes_.store(drawn_bytes_.load(std::memory_order_relaxed) + all, std::memory_order_relaxed);
    // pairs with J4, has_work, and collect: a thread that reads next_ sees the reservation
    next_.store(at.position + 1);
    return at;
}

void journal::hand_over(const place& at, std::unique_ptr<kept_answer> answer) noexcept {
    tail::set(at, mark::logged, std::move(answer));
    wake_if_idle();
}

void journal::leave_hole(const place& at, std::unique_ptr<kept_answer> answer) noexcept {
    tail::set(at, mark::hole, std::move(answer));
    wake_if_idle();
}

void journal::cut(const place& at) noexcept {
    tail::set(at, mark::hole | mark::cut);
    wake_if_idle();
}

// Calls that wait for their answers wake the journal's thread themselves (ring). A position only ends a sleep
// for_anything, because waking costs a system call: one for each group, not one for each record. Either this function
// sees that the thread sleeps, or the thread sees the position, which was drawn before (next_).
void journal::wake_if_idle() noexcept {
    if (how_.sync != log_sync::always && asleep_.load() == sleep::for_anything) ring();
}

// Pairs with asleep_, as in io_thread.cpp. A thread that pushes reads asleep_ afterwards. The journal's thread sets
// asleep_ and then looks for what was pushed. All accesses are sequentially consistent, so one of the two sees the
// other.
void journal::ring() noexcept {
    if (asleep_.load() == sleep::none || asleep_.exchange(sleep::none) == sleep::none) return;
    {
        const std::scoped_lock lock{mutex_};
        rung_ = true;
    }
    changed_.notify_all();
}

void journal::ask() noexcept {
    asked_.store(true);  // sequentially consistent, like asleep_: the journal's thread reads it before it sleeps
    ring();
}

bool journal::holds(waiter& w, std::uint64_t awaits, const std::atomic<bool>* host_sleeps) noexcept {
    if (how_.sync == log_sync::never) return false;
    w.wrote_ = awaits != 0;
    if (awaits == 0) awaits = next_.load();
    if (durable_.load(std::memory_order_acquire) >= awaits) return false;
    if (how_.sync == log_sync::every_second) {
        const std::uint64_t now = base::ticks(), oldest = oldest_.load();
        if (now <= oldest || now - oldest <= at_risk_) return false;  // J4
    }
    w.awaits_ = awaits;
    push(held_, w, &waiter::next_);
    // Either the last look of the journal's thread finds the call, or this function finds that the thread no longer
    // looks. The thread sets yielded_ before that look, and both accesses are sequentially consistent.
    if (yielded_.load()) [[unlikely]] {
        pass_on_late();
        return true;
    }
    if (asleep_.load() == sleep::for_a_group) {
        if (awaits >= enough_.load()) ask();
        return true;
    }
    // Either this function sees that the host sleeps, or the host, which sets its flag first, sees the call
    // (no_more_come). Both accesses are sequentially consistent. Under `everysec`, the journal does not use hosts.
    const bool hosted = how_.sync == log_sync::always && host_sleeps != nullptr && !host_sleeps->load();
    if (!hosted) ask();
    return true;
}

std::chrono::nanoseconds journal::patience() const noexcept {
    if (next_.load() - durable_.load() >= gathering::many) return {};
    return gathering::patience_of(std::chrono::nanoseconds{usually_.load(std::memory_order_relaxed)});
}

void journal::no_more_come() noexcept {
    if (how_.sync != log_sync::always || held_.load() == nullptr || writing_.load()) return;
    all_there_.store(true);
    ask();
}

void journal::more_come() noexcept {
    const bool plenty = next_.load() - durable_.load() >= gathering::plenty;
    if (plenty || base::ticks() > latest_at_.load(std::memory_order_relaxed)) no_more_come();
}

std::chrono::nanoseconds journal::quiet_for() const noexcept {
    constexpr std::int64_t most = 250'000;  // other requests of clients wait meanwhile
    if (how_.sync != log_sync::always) return {};
    if (!asked_.load(std::memory_order_relaxed) && !writing_.load(std::memory_order_relaxed)) return {};
    return std::chrono::nanoseconds{std::min(2 * usually_.load(std::memory_order_relaxed), most)};
}

std::string journal::trouble() const {
    const std::scoped_lock lock{mutex_};
    return why_;
}

figures journal::look() const {
    figures f;
    f.calls = calls_.load(std::memory_order_relaxed);
    f.bytes = bytes_.load(std::memory_order_relaxed);
    f.groups = groups_.load(std::memory_order_relaxed);
    f.snapshots = progress_.look();
    f.bytes_to_replay = bytes_to_replay();
    f.drawn = next_.load();
    f.durable = durable_.load();
    f.pending_bytes = pending();
    f.trouble = trouble();
    return f;
}

bool journal::has_work() const noexcept {
    return held_.load() != nullptr || waiting_ != nullptr || ready_calls_ != 0 || next_.load() != tail_.taken();
}

void journal::rest() {
    std::unique_lock lock{mutex_};
    const auto called = [this] { return rung_ || ending_ || to_keep_.has_value(); };
    if (in_trouble_.load()) {
        changed_.wait_for(lock, between_attempts, [this] { return ending_; });
    } else if (left_ == left_over::more) {
        // Continues at once.
    } else if (left_ == left_over::missing || waiting_ != nullptr) {
        // The missing record will be handed over soon.
        changed_.wait_for(lock, for_a_gap, called);
    } else {
        asleep_.store(sleep::for_anything);
        // Under `always`, only waiting calls are worth a group; a record without a waiting call belongs to a call that
        // has not ended. Calls that came while the latest group was written do not ask for a group, because its clients
        // are about to call again. If those clients do not call, the timeout below begins the group.
        const bool asked = how_.sync == log_sync::always ? asked_.load() : has_work();
        const bool waits = how_.sync == log_sync::always && held_.load() != nullptr;
        if (!asked && waits) changed_.wait_for(lock, gathering::longest, called);
        else if (!asked) changed_.wait(lock, called);
        asleep_.store(sleep::none);
        if (how_.sync == log_sync::always) {
            gather(lock);
        } else {
            // Puts many records into one group, unless an answer waits.
            rung_ = false;
            asleep_.store(sleep::for_a_waiter);
            if (held_.load() == nullptr) changed_.wait_for(lock, between_groups, called);
            asleep_.store(sleep::none);
        }
    }
    rung_ = false;
}

/// Begins a cycle. Calls that ask from here on ask for the next group.
void journal::begin_cycle() noexcept {
    writing_.store(true);
    all_there_.store(false);
    asked_.store(false);
}

/// Waits for more calls, under `always`, when a call waits. Calls wake the thread once they reach the expected number.
void journal::gather(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t enough = enough_.load();
    const auto called = [this] { return rung_ || ending_ || to_keep_.has_value(); };
    if (next_.load() >= enough || all_there_.load()) return;
    rung_ = false;
    asleep_.store(sleep::for_a_group);
    if (next_.load() < enough && !all_there_.load()) changed_.wait_for(lock, groups_to_come_.patience(), called);
    asleep_.store(sleep::none);
}

void journal::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-journal");
    constexpr unsigned long a_microsecond = 1000;
    ::prctl(PR_SET_TIMERSLACK, a_microsecond);  // a group's patience is often shorter than the default slack of 50 µs
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (bool last = false; !last;) {
        rest();
        {
            const std::scoped_lock lock{mutex_};
            last = ending_;
        }
        do {
            begin_cycle();
            collected_at_ = base::ticks();
            // Takes calls before records: a call has drawn its position before it waits.
            waiter* held = held_.exchange(nullptr);
            while (held != nullptr) {
                waiter* const one = std::exchange(held, held->next_);
                one->next_ = std::exchange(waiting_, one);
            }
            const bool collected = collect();
            const bool written = write(last || how_.sync != log_sync::never);
            if (collected && written) leave_trouble();
            write_snapshot();
            writing_.store(false);
            enough_.store(tail_.taken() + groups_to_come_.expected());
            latest_at_.store(base::ticks() + longest_wait_, std::memory_order_relaxed);
            pass_on();
        } while (last && has_work() && !in_trouble_.load());
    }
    if (yielded_.load()) return;  // everything is written, and the server continues
    // The executor has ended every call, so no position is missing. The rest could not be written.
    hurried_.store(true);
    in_trouble_.store(true);
    pass_on();
}

bool journal::collect() noexcept {
    // Reads next_ after collected_at_: later positions are answered after that time.
    const std::uint64_t upto = next_.load(std::memory_order_acquire);
    left_ = left_over::nothing;
    try {
        while (tail_.taken() < upto) {
            if (ready_ends_ || ready_.records.size() >= most_in_group) {
                left_ = left_over::more;
                break;
            }
            const stretch some = tail_.look(upto, most_in_group - ready_.records.size());
            if (some.positions == 0) {
                left_ = left_over::missing;
                break;
            }
            collect(some);
        }
        return true;
    } catch (const std::bad_alloc&) {
        enter_trouble(store_error{"there is no memory for the log", true});
    }
    return false;
}

void journal::collect(const stretch& some) {
    if (some.answer != nullptr && ready_.answers.capacity() == ready_.answers.size())
        ready_.answers.reserve(2 * ready_.answers.size() + 1);  // the steps below must not fail half-way
    ready_.records.append(some.records);
    if (!some.records.empty()) {
        if (ready_calls_ == 0) ready_.first = tail_.taken();
        ready_calls_ += some.positions;
        ready_.last = tail_.taken() + some.positions - 1;
    }
    if (some.answer != nullptr) {
        const std::unique_ptr<kept_answer> owned{some.answer};
        ready_bytes_ += bytes_of(some.answer);
        if (!some.records.empty()) ready_.answers.push_back(std::move(*owned));
    }
    // No group has positions on both sides of a cut, because a follower that has copied the snapshot asks for groups
    // from there.
    ready_ends_ = some.cut && ready_calls_ != 0;
    ready_bytes_ += some.reserved + some.positions * overhead;
    tail_.take(some);
}

bool journal::write(bool sync) noexcept {
    if (broken_) return false;
    try {
        const std::scoped_lock lock{file_mutex_};
        if (ready_calls_ != 0) {
            const std::uint64_t began = base::ticks();
            store_.need_names();
            store_.add({&ready_, 1}, sync);
            const auto took = static_cast<double>(base::ticks() - began) * base::nanoseconds_per_tick();
            groups_to_come_.note(ready_calls_, next_.load() - tail_.taken(),
                                 gathering::duration{static_cast<std::int64_t>(took)});
            usually_.store(static_cast<std::int64_t>(took), std::memory_order_relaxed);
            note_written(ready_, ready_calls_);
            ready_.records.clear();
            ready_.answers.clear();
            ready_calls_ = 0;
            ready_ends_ = false;
        }
        // Everything drawn before collected_at_ is in the file, unless something is left over. This store comes before
        // the one to durable_: a call that draws while the log is otherwise durable sets a later time, which must
        // persist.
        if (left_ == left_over::nothing) oldest_.store(collected_at_, std::memory_order_relaxed);
        written_bytes_.store(written_bytes_.load(std::memory_order_relaxed) + std::exchange(ready_bytes_, 0),
                             std::memory_order_release);
        durable_.store(tail_.taken());  // sequentially consistent for note_durable
        others_.note_durable();
        tidy_file();
        return true;
    } catch (const store_error& e) {
        enter_trouble(e);
    } catch (const std::exception& e) {
        enter_trouble(store_error{e.what(), true});
    }
    return false;
}

void journal::pass_on() noexcept {
    const std::uint64_t durable = durable_.load(std::memory_order_relaxed);
    const bool troubled = in_trouble_.load();
    const bool all = broken_ || (troubled && hurried_.load());
    waiter* left = nullptr;
    while (waiting_ != nullptr) {
        waiter* const one = std::exchange(waiting_, waiting_->next_);
        if (one->awaits_ <= durable) one->pass_on(waiter::outcome::kept);
        else if (all || (troubled && !one->wrote_)) one->pass_on(waiter::outcome::unknown);
        else one->next_ = std::exchange(left, one);
    }
    waiting_ = left;
}

void journal::enter_trouble(const store_error& why) noexcept {
    if (!why.may_try_again()) broken_ = true;
    const bool known = in_trouble_.exchange(true) && why.may_try_again();
    try {
        std::string line = why.what();
        if (broken_) line += "; nothing is written any more until the server is started again";
        if (!known) tell_(true, line);
        const std::scoped_lock lock{mutex_};
        why_ = std::move(line);
    } catch (const std::bad_alloc&) {
        // There is no memory for the text.
    }
}

void journal::leave_trouble() noexcept {
    if (!in_trouble_.load()) return;
    in_trouble_.store(false);
    {
        const std::scoped_lock lock{mutex_};
        why_.clear();
    }
    try {
        tell_(false, "the log can be written again; nothing of it was lost");
    } catch (const std::bad_alloc&) {
        // As above.
    }
}

}  // namespace tutti::server::journal
