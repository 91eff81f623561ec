#include "server/journal/journal.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <utility>

#include "server/journal/stream.hpp"

namespace tutti::server::journal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_groups{200};  // where no answer waits
constexpr milliseconds between_attempts{100};
constexpr milliseconds for_a_gap{1};
constexpr std::chrono::seconds at_risk{1};
constexpr std::size_t most_in_group = std::size_t{16} << 20;
constexpr std::size_t overhead = sizeof(slip);

std::int64_t microseconds_of_day() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

template <class T>
void push(std::atomic<T*>& on, T& what, T* T::* next) noexcept {
    T* top = on.load(std::memory_order_relaxed);
    do what.*next = top;
    while (!on.compare_exchange_weak(top, &what));
}

std::size_t pending(const slip& s) noexcept {
    return overhead + s.record.size() + (s.answer ? s.answer->answer.size() + s.answer->key.size() : 0);
}

void insert(slip*& into, slip* s) noexcept {
    slip** at = &into;
    while (*at != nullptr && (*at)->position < s->position) at = &(*at)->next;
    s->next = *at;
    *at = s;
}

// Linear: what waits behind a missing one may be long.
slip* merge(slip* a, slip* b) noexcept {
    slip* all = nullptr;
    slip** end = &all;
    while (a != nullptr && b != nullptr) {
        slip*& first = a->position < b->position ? a : b;
        *end = std::exchange(first, first->next);
        end = &(*end)->next;
    }
    *end = a != nullptr ? a : b;
    return all;
}

}  // namespace

journal::journal(const log_settings& how, std::function<void(bool, const std::string&)> tell)
    : how_{how}, tell_{std::move(tell)}, store_{how.file} {}

journal::~journal() {
    end();
    for (slip* s = early_; s != nullptr;) delete std::exchange(s, s->next);
}

void journal::begin(std::uint64_t after) {
    std::uint64_t next = 0;
    std::vector<branch> before;
    branch own;
    // A follower that is promoted hears of terms meanwhile, and notes them in the file.
    with_file([&](store& file) {
        next = file.end();
        before = file.branches();
        std::random_device chance;
        own = {.term = std::max({std::uint64_t{1}, before.empty() ? 0 : before.back().term, after + 1}),
               .id = (std::uint64_t{chance()} << 32) | chance() | 1,
               .first = before.empty() ? 1 : next};
        file.add_branch(own);
        not_in_snapshot_.store(file.snapshot_position());
        bytes_to_replay_.store(file.bytes());
    });
    for (const branch& b : before) others_.know(b);
    next_.store(next);  // first: what a follower's calls read of it was durable, and is to stay so
    durable_.store(next);
    collected_ = next;
    thread_ = std::thread{[this] { work(); }};
    if (!followed_) others_.start();
    others_.lead(own);
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
    try {
        const std::scoped_lock lock{file_mutex_};
        if (!from.groups.empty() && from.groups.front().first < store_.end())
            throw store_error{"the leader sent calls that the log has already", false};
        store_.append(from.groups, from.branches, from.upto, from.now.term, how_.sync != log_sync::never);
        for (const group& g : from.groups) note_written(g, 1);
        const std::uint64_t end = store_.end();
        store_.tidy();
        durable_.store(std::max(end, from.upto), std::memory_order_release);
        next_.store(std::max(end, from.upto));  // last: a call that reads this waits for no more than is durable
        leave_trouble();
        return true;
    } catch (const store_error& e) {
        enter_trouble(e);
    } catch (const std::exception& e) {
        enter_trouble(store_error{e.what(), true});
    }
    return false;
}

bool journal::takes(const slip& s) const noexcept {
    // The last record of a group joins those that are not too many yet (collect).
    if (s.record.size() > store_.longest() - most_in_group) return false;
    return !s.answer || s.answer->key.size() + s.answer->answer.size() <= store_.longest();
}

void journal::hand_over(std::unique_ptr<slip> s) noexcept {
    // First, so that the figure is never less than what is there.
    if (pending_bytes_.fetch_add(pending(*s)) == 0) oldest_.store(clock::now().time_since_epoch().count());
    push(handed_over_, *s.release(), &slip::next);
    // Answers ring for themselves where they wait. A record ends a rest without end only: it costs a system call, which
    // is one for each group and not one for each record.
    if (how_.sync != log_sync::always && asleep_.load() == sleep::for_anything) ring();
}

// Partner of asleep_: as in io_thread.cpp. A thread that pushes looks at asleep_ afterwards; the journal's thread sets
// it and then looks for what was pushed. All sequentially consistent, so one of them sees the other.
void journal::ring() noexcept {
    if (asleep_.load() == sleep::none || asleep_.exchange(sleep::none) == sleep::none) return;
    {
        const std::scoped_lock lock{mutex_};
        rung_ = true;
    }
    changed_.notify_all();
}

bool journal::holds(waiter& w, std::uint64_t awaits) noexcept {
    if (how_.sync == log_sync::never) return false;
    w.wrote_ = awaits != 0;
    if (awaits == 0) awaits = next_.load();
    if (durable_.load(std::memory_order_acquire) >= awaits) return false;
    if (how_.sync == log_sync::every_second) {
        const clock::time_point oldest{clock::duration{oldest_.load()}};
        if (clock::now() - oldest <= at_risk) return false;  // J4
    }
    w.awaits_ = awaits;
    push(held_, w, &waiter::next_);
    ring();
    return true;
}

std::string journal::trouble() const {
    const std::scoped_lock lock{mutex_};
    return why_;
}

std::string journal::keep(snapshot s) {
    std::unique_lock lock{mutex_};
    if (ending_) return "the server is ending";
    to_keep_ = std::move(s);
    kept_.reset();
    rung_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return kept_.has_value(); });
    return *kept_;
}

figures journal::look() const {
    figures f;
    f.calls = calls_.load(std::memory_order_relaxed);
    f.bytes = bytes_.load(std::memory_order_relaxed);
    f.groups = groups_.load(std::memory_order_relaxed);
    f.snapshots = snapshots_.load(std::memory_order_relaxed);
    f.drawn = next_.load();
    f.durable = durable_.load();
    f.pending_bytes = pending_bytes_.load(std::memory_order_relaxed);
    f.trouble = trouble();
    return f;
}

bool journal::has_work() const noexcept {
    return held_.load() != nullptr || handed_over_.load() != nullptr || waiting_ != nullptr || early_ != nullptr ||
           ready_calls_ != 0;
}

void journal::rest() {
    std::unique_lock lock{mutex_};
    const auto called = [this] { return rung_ || ending_ || to_keep_.has_value(); };
    if (in_trouble_.load()) {
        changed_.wait_for(lock, between_attempts, [this] { return ending_; });
    } else if (has_next()) {
        // A group ended before it.
    } else if (early_ != nullptr || waiting_ != nullptr) {
        // What is missing is on its way. Nobody rings for it.
        changed_.wait_for(lock, for_a_gap, called);
    } else {
        asleep_.store(sleep::for_anything);
        // Under `always` only a call that waits is worth a group; a record alone belongs to a call that has not ended.
        const bool asked = held_.load() != nullptr || (how_.sync != log_sync::always && has_work());
        if (!asked) changed_.wait(lock, called);
        asleep_.store(sleep::none);
        if (how_.sync != log_sync::always) {
            // Many in one group, unless an answer waits.
            rung_ = false;
            asleep_.store(sleep::for_a_waiter);
            if (held_.load() == nullptr) changed_.wait_for(lock, between_groups, called);
            asleep_.store(sleep::none);
        }
    }
    rung_ = false;
}

void journal::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-journal");
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
            collected_at_ = clock::now();
            // Calls before records: what a call awaits has been drawn before it came here.
            waiter* held = held_.exchange(nullptr);
            while (held != nullptr) {
                waiter* const one = std::exchange(held, held->next_);
                one->next_ = std::exchange(waiting_, one);
            }
            const bool collected = collect();
            const bool written = write(last || how_.sync != log_sync::never);
            if (collected && written) leave_trouble();
            write_snapshot();
            pass_on();
        } while (last && has_work() && !in_trouble_.load());
    }
    // The executor has ended every call, so nothing is missing; what is left could not be written.
    hurried_.store(true);
    in_trouble_.store(true);
    pass_on();
}

void journal::take_over() noexcept {
    // The newest first, as they lie: each goes before those that were put in before it, and the walk is as long as the
    // number of calls that ran at once.
    slip* sorted = nullptr;
    slip* newest = handed_over_.exchange(nullptr);
    while (newest != nullptr) insert(sorted, std::exchange(newest, newest->next));
    early_ = merge(early_, sorted);
}

bool journal::collect() noexcept {
    // What is left from the last time is collected first: while the disk is behind, what is handed over stays where it
    // lies, and is not sorted again each time.
    if (!has_next()) take_over();
    try {
        while (!ready_ends_ && has_next() && ready_.records.size() < most_in_group) {
            slip& s = *early_;
            const std::size_t bytes = pending(s);
            if (!s.record.empty()) {
                if (ready_.answers.capacity() == ready_.answers.size())
                    ready_.answers.reserve(2 * ready_.answers.size() + 1);  // so that what follows cannot fail half way
                ready_.records.append(s.record);
                if (s.answer) ready_.answers.push_back(std::move(*s.answer));
                if (ready_calls_++ == 0) ready_.first = s.position;
                ready_.last = s.position;
            }
            // No group lies on both sides of a cut: a follower that has copied the snapshot asks for groups from there.
            ready_ends_ = s.cut && ready_calls_ != 0;
            ready_pending_ += bytes;
            ++collected_;
            early_ = s.next;
            delete &s;
        }
        return true;
    } catch (const std::bad_alloc&) {
        enter_trouble(store_error{"there is no memory for the log", true});
    }
    return false;
}

bool journal::write(bool sync) noexcept {
    if (broken_) return false;
    try {
        const std::scoped_lock lock{file_mutex_};
        if (ready_calls_ != 0) {
            store_.add({&ready_, 1}, sync);
            note_written(ready_, ready_calls_);
            ready_.records.clear();
            ready_.answers.clear();
            ready_calls_ = 0;
            ready_ends_ = false;
        }
        // Before the figure is lowered: whoever finds it zero sets a later time, which has to stand.
        oldest_.store(collected_at_.time_since_epoch().count());
        pending_bytes_.fetch_sub(std::exchange(ready_pending_, 0));
        durable_.store(collected_, std::memory_order_release);
        others_.ring();
        store_.tidy();
        const std::int64_t now = microseconds_of_day();
        constexpr std::int64_t a_minute = 60'000'000;
        if (now - answers_forgotten_at_ > a_minute) {
            answers_forgotten_at_ = now;
            store_.forget_answers(now - std::chrono::microseconds{how_.answers_for}.count(), how_.answers);
        }
        return true;
    } catch (const store_error& e) {
        enter_trouble(e);
    } catch (const std::exception& e) {
        enter_trouble(store_error{e.what(), true});
    }
    return false;
}

void journal::write_snapshot() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        // What it holds has to be in the log before: else a start would find it twice, or a gap before it.
        const bool ready = to_keep_ && (broken_ || in_trouble_.load() || durable_.load() >= to_keep_->position);
        if (!ready) return;
    }
    std::string how = in_trouble_.load() ? trouble() : replace_snapshot(*to_keep_);
    if (how.empty()) not_in_snapshot_.store(to_keep_->position + 1);  // that one is the dump's own
    {
        const std::scoped_lock lock{mutex_};
        to_keep_.reset();
        kept_ = std::move(how);
    }
    changed_.notify_all();
}

std::string journal::replace_snapshot(const snapshot& s) noexcept {
    try {
        const std::scoped_lock lock{file_mutex_};
        store_.replace_snapshot(s, how_.backlog);
        bytes_to_replay_.store(store_.bytes());
        ++snapshots_;
        return {};
    } catch (const store_error& e) {
        if (!e.may_try_again()) enter_trouble(e);
        return e.what();
    } catch (const std::exception& e) {
        return e.what();
    }
}

std::string journal::keep_at_end(snapshot s) {
    const std::string failed = replace_snapshot(s);
    if (failed.empty()) not_in_snapshot_.store(next_.load());
    return failed;
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
        // There is no memory for words.
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
        // as above
    }
}

}  // namespace tutti::server::journal
