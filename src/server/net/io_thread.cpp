#include "server/net/io_thread.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/scheduling.hpp"
#include "server/net/peer.hpp"
#include "server/protocol/web_request.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr int max_events = ownership_offers::max_events;
constexpr std::size_t scratch_bytes = 16'384;  // the maximum length of a TLS record
// A round always ends after this many requests, because more urgent requests may have arrived. The number is not
// smaller, because each round costs two system calls for each client that it reads.
constexpr std::size_t max_requests = 256;
/// The interval of checks for calls that were expected to be short. A more urgent call waits until such a call ends on
/// any worker, but at most for one to two intervals. Then the thread interrupts a worker.
constexpr std::chrono::microseconds overdue_check_interval{50};

bool add_to(const handle& epoll, int what, std::uint32_t events, const void* tag) noexcept {
    epoll_event e{};
    e.events = events;
    e.data.ptr = const_cast<void*>(tag);
    return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, what, &e) == 0 || errno == EEXIST;
}

/// Returns the time from now until `when`.
timespec time_to(instant when) noexcept {
    using std::chrono::nanoseconds;
    constexpr std::int64_t second = 1'000'000'000;
    const nanoseconds left = std::max(when - std::chrono::steady_clock::now(), nanoseconds::zero());
    return {left.count() / second, left.count() % second};
}

/// Returns `span`, or less if `worker` has something to do earlier. `worker` is null if the thread itself owns the I/O.
timespec time_for(std::chrono::nanoseconds span, const idle_wakeup* worker) noexcept {
    if (span.count() == 0) return {};
    const instant end = std::chrono::steady_clock::now() + span;
    return time_to(worker == nullptr ? end : std::min(end, worker->until));
}

void send_too_many_clients(handle socket) noexcept {
    stream refused{std::move(socket)};
    static_cast<void>(refused.write("-MAXCLIENTS max number of clients reached\r\n"));
}

}  // namespace

io_thread::io_thread(io_shared_state& shared, std::size_t procedures)
    : shared_{shared},
      limits_{shared.how.max_arguments, shared.how.max_request},
      counters_{procedures},
      stuck_calls_{shared.how},
      epoll_{::epoll_create1(EPOLL_CLOEXEC)},
      wakeup_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)},
      last_resort_{::open("/dev/null", O_RDONLY | O_CLOEXEC)},
      scratch_{std::make_unique_for_overwrite<char[]>(scratch_bytes)},
      now_{std::chrono::steady_clock::now()},
      next_check_{now_},
      offers_{procedures, shared.how.short_call_limit, shared.workers, now_} {
    if (!epoll_.is_open() || !wakeup_.is_open() || !last_resort_.is_open())
        throw std::system_error{errno, std::generic_category(), "cannot create the descriptors of an I/O thread"};
    if (!add_to(epoll_, wakeup_.get(), EPOLLIN, &wakeup_) || !watch_listening_sockets(true))
        throw std::system_error{errno, std::generic_category(), "epoll"};
}

bool io_thread::watch_listening_sockets(bool on) noexcept {
    if (accepting_ == on) return true;
    accepting_ = on;
    for (const listening_socket& e : shared_.listening_sockets) {
        if (!on) {
            ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, e.listener.get(), nullptr);
        } else if (!add_to(epoll_, e.listener.get(), EPOLLIN | EPOLLEXCLUSIVE, &e)) {
            const int error = errno;
            watch_listening_sockets(false);  // removes all listeners, because the next attempt adds all of them again
            errno = error;
            return false;
        }
    }
    return true;
}

io_thread::~io_thread() = default;

void io_thread::start() {
    thread_ = std::thread{[this] { work(); }};
}

// asleep_ pairs with completed_, drain_requested_ and kill_requested_. The sending thread stores its message and then
// checks whether the I/O thread sleeps. The I/O thread sets asleep_ and then checks for messages. All accesses are
// sequentially consistent, so one of the two sees the other.
void io_thread::complete_request(request& done) noexcept {
    request* top = completed_.load(std::memory_order_relaxed);
    do done.next_completed = top;
    while (!completed_.compare_exchange_weak(top, &done));
    wake();  // the I/O thread owns `done` from here on
}

void io_thread::wake() noexcept {
    if (asleep_.load() && asleep_.exchange(false)) static_cast<void>(::eventfd_write(wakeup_.get(), 1));
}

void io_thread::begin_drain() noexcept {
    drain_requested_.store(true);
    wake();
}

bool io_thread::responds() noexcept {
    const std::uint64_t now = request_round();
    return has_started_round(std::exchange(seen_rounds_, now));
}

void io_thread::check_killed() noexcept {
    kill_requested_.store(true);
    wake();
}

// The I/O thread sets asleep_ and then increments the count of rounds. The calling thread reads the count and then
// checks asleep_. If the I/O thread is awake, it will set asleep_ and then increment the count. If the I/O thread
// sleeps, the wake-up starts a round. If the calling thread has read an incremented count, it also sees the stores
// before the increment, so it finds asleep_ set.
std::uint64_t io_thread::request_round() noexcept {
    const std::uint64_t seen = rounds_.load(std::memory_order_acquire);
    wake();
    return seen;
}

bool io_thread::has_started_round(std::uint64_t since) const noexcept {
    return rounds_.load(std::memory_order_acquire) != since || has_ended_.load(std::memory_order_relaxed);
}

bool io_thread::finished() const noexcept {
    return draining_ && connections_.empty() && requests_.empty() && deferred_count_ == 0;
}

void io_thread::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-io_thread");  // the name that tools show
    if (const int priority = shared_.how.io_realtime; priority != 0) {
        if (const int error = base::set_realtime_priority(0, priority); error != 0)
            shared_.how.log_callback(
                severity::warning,
                std::string{"an I/O thread runs without its real-time priority: "} + std::strerror(error));
    }
    // Only the program's own threads handle signals, so this thread blocks them. SIGPIPE, which OpenSSL's writes raise,
    // stays pending.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!finished()) {
        wait();
        submit();
        end_round();
        if (may_offer_ownership()) offer_ownership();
    }
    has_ended_.store(true, std::memory_order_relaxed);
}

void io_thread::end_round() {
    collect();
    resume_paused();
    for (connection* const c : touched_) update_connection(*c);
    touched_.clear();
    enforce_memory_limit();
    submit();
    if (now_ >= next_overdue_check_ && shared_.runs.has_skipped_workers()) {
        shared_.runs.tick_overdue();
        next_overdue_check_ = now_ + overdue_check_interval;
    }
    if (now_ >= next_check_) run_periodic_checks();
    // While the thread drains, it submits nothing, so the condition stays true.
    if (draining_ && requests_.empty()) has_no_calls_.store(true, std::memory_order_release);
}

/// Waits for events, and handles them. `worker`: the worker that owns the I/O. If the executor needs that worker, the
/// function does not wait.
void io_thread::wait(const idle_wakeup* worker) {
    std::array<epoll_event, max_events> events;
    std::array<connection*, max_events> readable;
    std::size_t to_read = 0;
    const int count = sleep(events, worker);
    requests_of_round_ = 0;
    now_ = std::chrono::steady_clock::now();
    if (drain_requested_.load() && !draining_) stop_for_drain();
    if (kill_requested_.load() && kill_requested_.exchange(false)) close_killed();
    for (int i = 0; i < count; ++i) {
        void* const tag = events[static_cast<std::size_t>(i)].data.ptr;
        if (tag == &wakeup_) {
            eventfd_t rung = 0;
            static_cast<void>(::eventfd_read(wakeup_.get(), &rung));
        } else if (const auto* const e = static_cast<const listening_socket*>(tag);
                   e >= shared_.listening_sockets.data() &&
                   e < shared_.listening_sockets.data() + shared_.listening_sockets.size()) {
            if (!draining_) accept(*e);
        } else if (auto& c = *static_cast<connection*>(tag);
                   handle_event(c, events[static_cast<std::size_t>(i)].events)) {
            readable[to_read++] = &c;
        }
    }
    read_in_order({readable.data(), to_read});
    if (worker != nullptr) offers_.adapt_events(count, to_submit_.size());
}

/// Returns true if a message or flag is set that the thread must check before a sleep.
bool io_thread::has_message(const idle_wakeup* worker) const noexcept {
    return (worker != nullptr && worker->is_requested()) || completed_.load() != nullptr ||
           (!draining_ && drain_requested_.load()) || kill_requested_.load();
}

/// Waits only for a wake-up, and not for clients. Returns true if the thread was woken. REQUIRES: asleep_ is set.
bool io_thread::is_woken_within(std::chrono::nanoseconds time, const idle_wakeup& worker) noexcept {
    if (time.count() == 0) return false;
    pollfd wakeup{.fd = wakeup_.get(), .events = POLLIN, .revents = 0};
    const timespec left = time_for(time, &worker);
    if (::ppoll(&wakeup, 1, &left, nullptr) <= 0) return false;
    asleep_.store(false);
    eventfd_t rung = 0;
    static_cast<void>(::eventfd_read(wakeup_.get(), &rung));
    return true;
}

/// Waits for events. Returns the number of events.
int io_thread::sleep(std::span<epoll_event> into, const idle_wakeup* worker) noexcept {
    int timeout = 0;
    const int most = worker == nullptr ? max_events : offers_.events_of_worker();
    journal::journal* const log = shared_.log;
    asleep_.store(true);
    rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // see request_round
    if (!has_message(worker)) {
        // Ended calls wait for the log's next group commit. The group commit begins once the clients send no more
        // requests.
        if (log != nullptr && log->is_gathering()) {
            const timespec left = time_for(log->idle_poll_time(), worker);
            const int count =
                log->has_all_expected_calls() ? 0 : ::epoll_pwait2(epoll_.get(), into.data(), most, &left, nullptr);
            if (count > 0) {
                asleep_.store(false);
                log->expect_more_calls();
                return count;
            }
            log->expect_no_more_calls();
        }
        // While the log writes a group, no answer can be sent. So the worker lets requests accumulate and reads them
        // together, instead of waking another worker for each request. The worker does not wait if the latest round had
        // many requests, because this round probably has many, too.
        const bool trickles = requests_of_round_ < journal::group_commit_delay::enough_calls;
        if (log != nullptr && worker != nullptr && trickles && is_woken_within(log->max_block_time(), *worker))
            return 0;
        const bool has_checks = !connections_.empty() || !requests_.empty() || !accepting_;
        const instant next = paused_.empty() ? next_check_ : std::min(next_check_, next_resume_);
        const auto left = std::chrono::ceil<milliseconds>(next - now_).count();
        timeout = has_checks ? static_cast<int>(std::max<long>(left, 0)) : -1;
        if (shared_.runs.has_skipped_workers()) timeout = timeout < 0 ? 1 : std::min(timeout, 1);
    }
    int count = 0;
    if (timeout == 0 || worker == nullptr || worker->until == instant::max()) {
        count = ::epoll_wait(epoll_.get(), into.data(), most, timeout);
    } else {
        // The timeout is exact to the microsecond, because a transaction waits until `worker->until`.
        const instant check = timeout < 0 ? instant::max() : std::min(next_check_, now_ + milliseconds{timeout});
        const timespec left = time_to(std::min(check, worker->until));
        count = ::epoll_pwait2(epoll_.get(), into.data(), most, &left, nullptr);
        // Before Linux 5.11, epoll_pwait2 fails. There the wait ends at most a millisecond late.
        if (count < 0 && errno != EINTR) count = ::epoll_wait(epoll_.get(), into.data(), most, 1);
    }
    asleep_.store(false);
    return count;
}

void io_thread::accept(const listening_socket& from) {
    // Accepts a few clients at a time, so that existing clients need not wait for new ones.
    for (int i = 0; i < 16; ++i) {
        // If the server has no write timeout, a client may leave answers unread forever. The system cannot distinguish
        // such a client from a client that has vanished.
        const bool limits_unacknowledged_data = shared_.how.write_timeout.count() > 0;
        handle socket = accept_from(from.listener, {shared_.how.keepalive, limits_unacknowledged_data});
        if (!socket.is_open()) {
            if ((errno == EMFILE || errno == ENFILE) && reject_client(from)) continue;
            // The client stays in the backlog until the next check. The listeners are not watched meanwhile, because
            // they would wake epoll again and again.
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) watch_listening_sockets(false);
            return;
        }
        const std::size_t most = shared_.how.max_clients + from.reserved, there = shared_.clients.fetch_add(1);
        if (there >= most && !may_use_reserved_connection(from, socket, there - most)) {
            shared_.clients.fetch_sub(1);
            counters_.rejected_connections.add_one();
            send_too_many_clients(std::move(socket));
            continue;
        }
        if (!add_client(from, std::move(socket),
                        there >= most && shared_.known_commands.identifies_operators_by_login())) {
            shared_.clients.fetch_sub(1);
            counters_.rejected_connections.add_one();
        }
    }
}

/// Accepts a client although all descriptors are in use, and refuses the client with an error instead of letting it
/// wait. Uses the descriptor that is reserved for this purpose. Returns false if another thread accepted the client
/// first. Preserves errno.
bool io_thread::reject_client(const listening_socket& from) noexcept {
    const int error = errno;
    last_resort_.close();
    handle socket = accept_from(from.listener, {});
    const bool somebody = socket.is_open();
    if (somebody) {
        counters_.rejected_connections.add_one();
        send_too_many_clients(std::move(socket));
    }
    last_resort_ = handle{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    errno = error;
    return somebody;
}

bool io_thread::add_client(const listening_socket& from, handle socket, bool is_provisional) noexcept {
    connection* let_in = nullptr;
    client_directory::client_entry* entered = nullptr;
    try {
        auto made = std::make_unique<connection>(from.make_stream(std::move(socket)), now_, shared_.bytes);
        connection& c = *made;
        let_in = &c;
        c.who.is_trusted = shared_.how.password.empty() && shared_.how.users.empty();
        c.interest = std::uint32_t{EPOLLIN} | std::uint32_t{EPOLLRDHUP};
        touched_.reserve(connections_.size() + 1);  // so that touching a connection needs no memory
        connections_.emplace(&c, std::move(made));
        paused_.reserve(connections_.size());  // so that pausing a connection needs no memory
        c.who.owner = shared_.known_principals.at(origin_of_peer(c.io->socket()), now_);
        c.who.entry = &shared_.directory.add(address_of_peer(c.io->socket()), now_, *this);
        entered = c.who.entry;
        shared_.directory.set_owner(*entered, c.who.owner);
        if (is_provisional)
            shared_.directory.set_provisional(*c.who.entry, client_directory::provisional_state::not_logged_in);
        if (add_to(epoll_, c.io->socket(), c.interest, &c)) {
            counters_.clients.add_one();
            counters_.total_connections_received.add_one();
            return true;
        }
    } catch (const std::exception&) {
        // There is no memory for the client, so the connection is closed.
    }
    if (entered != nullptr) shared_.directory.remove(*entered);
    connections_.erase(let_in);
    return false;
}

/// Returns true if the connection is to be read in this round.
bool io_thread::handle_event(connection& c, std::uint32_t events) {
    if ((events & ~std::uint32_t{EPOLLIN}) != 0) touch(c);
    if ((events & EPOLLRDHUP) != 0) c.abandon_calls();
    const bool readable = (events & EPOLLIN) != 0;
    // EPOLLHUP: the other side has disconnected and will read no answer. Requests that it sent before may still run.
    const bool is_closed = (events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && !readable);
    if (is_closed) c.broken = true;
    return !is_closed && (readable || (should_read(c) && c.io->wants_to_write()));
}

/// Reads connections in order, until the round has enough requests. In the next round, epoll again reports the
/// connections that this round has not read.
void io_thread::read_in_order(std::span<connection*> readable) {
    const bool in_turn = shared_.how.round_robin_reads;
    std::ranges::sort(
        readable, [in_turn](const connection* a, const connection* b) { return a->turn.is_before(b->turn, in_turn); });
    connection* late = nullptr;
    for (connection* const c : readable) {
        if (requests_of_round_ < max_requests) {
            read(*c);
            continue;
        }
        c->turn.mark_skipped(now_);
        if (c->turn.is_overdue(now_) && (late == nullptr || c->turn.is_before(late->turn, true))) late = c;
    }
    if (late != nullptr) read(*late);
}

void io_thread::read(connection& c) noexcept {
    touch(c);  // there is room: see add_client
    c.turn.record_read(++latest_read_);
    try {
        read_from(c);
    } catch (const std::exception&) {
        c.broken = true;
    }
}

void io_thread::read_from(connection& c) {
    const stream::result r = c.io->read({scratch_.get(), scratch_bytes});
    if (r.how == stream::state::ended) {
        c.input_ended = true;
        c.abandon_calls();
    }
    if (r.how == stream::state::broken) c.broken = true;
    if (r.how != stream::state::good) return;
    counters_.total_net_input_bytes.add(r.bytes);
    if (c.lingering || c.who.quit) return;
    const std::string_view fresh{scratch_.get(), r.bytes};
    // Parses complete requests in the read buffer, and copies only an incomplete request to `c.in`.
    if (c.in.empty()) {
        c.in.append(fresh.substr(parse_requests(c, fresh)));
    } else {
        c.in.append(fresh);
        c.in.consume(parse_requests(c, c.in.pending()));
    }
}

bool io_thread::may_take_request(const connection& c) const noexcept {
    // The limits before the login are small, so that an unknown client cannot use much of the server's memory.
    constexpr std::size_t requests_before_login = 16, unsent_before_login = 16'384;
    if (c.who.quit || c.who.awaits_password_check || c.lingering || c.paused || c.awaits_handover) return false;
    if (!c.who.is_trusted && (c.in_flight >= requests_before_login || c.held() >= unsent_before_login)) return false;
    return c.in_flight < shared_.how.max_pipeline && c.held() < shared_.how.max_output_buffer;
}

/// Returns true if the connection's socket is to be read, even if only to discard the input.
bool io_thread::should_read(const connection& c) const noexcept {
    return !c.input_ended && (may_take_request(c) || c.who.quit || c.lingering);
}

/// Answers the client with an error. The server takes no further requests of the client.
void io_thread::end_with_error(connection& c, std::string_view code, const std::string& why) {
    std::string answer;  // made first: if this throws, the order contains no request without an answer
    reply{answer}.error(code, why);
    request& r = requests_.acquire();
    r.answer = std::move(answer);
    c.append(r);
    c.mark_answered(r);
    c.who.quit = true;
}

void io_thread::count_command(connection& c) noexcept {
    counters_.commands.add_one();
    counters_.logins_failed.add(std::exchange(c.who.failed_logins, 0U));
}

/// Parses and processes the requests in `input`. Returns the number of parsed bytes.
std::size_t io_thread::parse_requests(connection& c, std::string_view input) {
    // When the server has used up its memory budget, it still keeps this many bytes of an incomplete request.
    constexpr std::size_t unfinished_in_need = 16'384;
    // The limits before the login are small, so that an unknown client cannot use much of the server's memory.
    constexpr request_limits limits_before_login{16, 4096};
    std::size_t taken = 0;
    while (taken < input.size() && may_take_request(c)) {
        const auto outcome = c.parser.parse(input.substr(taken), c.who.is_trusted ? limits_ : limits_before_login);
        if (outcome == request_parser::parse_result::incomplete) {
            if (input.size() - taken <= unfinished_in_need || !shared_.bytes.is_used_up() || c.who.owner->is_admin())
                break;
            end_with_error(c, "BUSY", "not enough memory to buffer this request; try again later");
            return input.size();
        }
        if (outcome == request_parser::parse_result::malformed) {
            end_with_error(c, "ERR", "Protocol error: " + c.parser.error());
            counters_.malformed.add_one();
            return input.size();
        }
        if (!c.parser.words().empty() && is_of_http(c.parser.words())) {
            end_with_error(c, "ERR", std::string{refused_http});
            counters_.malformed.add_one();
            shared_.http_warnings.record(c.who.entry->address(), now_, shared_.how.log_callback);
            return input.size();
        }
        if (!c.parser.words().empty() && shared_.known_commands.must_be_delayed(c.who, c.parser.words())) {
            c.awaits_handover = true;
            c.parser.restart();
            break;
        }
        const bool costly = c.who.is_trusted && shared_.known_commands.is_costly(c.parser.words());
        if (costly && must_delay(c)) {
            c.parser.restart();  // the request is parsed again when the client's turn comes
            break;
        }
        taken += c.parser.length();
        c.unfinished_since.reset();
        if (!c.parser.words().empty()) {
            ++requests_of_round_;
            request& r = requests_.acquire();
            r.arrived = now_;
            c.last_request = now_;
            c.who.entry->record_request(now_);
            c.append(r);
            try {
                // process() may enter a call with an ID into the reply cache. The ID then stays in progress until the
                // call ends, so submitting the call must not fail afterwards. Therefore the memory in `to_submit_` is
                // reserved first.
                if (to_submit_.size() == to_submit_.capacity()) to_submit_.reserve(2 * to_submit_.size() + 1);
                const instant began = costly ? std::chrono::steady_clock::now() : now_;
                const bool was_trusted = c.who.is_trusted;
                const commands::command_result then = shared_.known_commands.process(c.who, c.parser.words(), r);
                c.charge(r);
                if (costly) charge_for(c, began);
                if (then == commands::command_result::submit) c.turn.record_call(r.priority);
                else c.turn.record_command();
                switch (then) {
                    case commands::command_result::submit:
                        count_accepted(c, r);
                        to_submit_.push_back(&r);
                        break;
                    case commands::command_result::check_password:
                        c.who.awaits_password_check = true;
                        ++deferred_count_;
                        r.login.origin = c.who.owner;
                        if (r.login.who != nullptr && r.login.who->configured.is_admin)
                            shared_.directory.record_operator_login(*c.who.entry);
                        shared_.passwords.submit(r);
                        break;
                    case commands::command_result::defer:
                        if (r.deferred.what == replication_command::kind::fetch &&
                            !std::exchange(c.who.is_follower, true))
                            shared_.follower_clients.fetch_add(1);
                        touch(c);  // update_connection() submits the request when its turn comes
                        count_command(c);
                        break;
                    case commands::command_result::answer:
                        if (!was_trusted && c.who.is_trusted) confirm_provisional_client(c, r);
                        c.who.written_position = std::max(c.who.written_position, r.logged.awaited_position);
                        c.mark_answered(r);
                        count_command(c);
                        break;
                }
            } catch (...) {
                c.mark_answered(r);  // only this connection has the request, and the connection is about to end
                throw;
            }
        }
        c.parser.restart();
    }
    return taken;
}

}  // namespace tutti::server
