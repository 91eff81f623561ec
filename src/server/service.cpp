#include "tutti/server/service.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "exposition/web_server.hpp"
#include "server/calls/catalog.hpp"
#include "server/calls/crash_report.hpp"
#include "server/calls/executors.hpp"
#include "server/calls/recovery.hpp"
#include "server/checked_settings.hpp"
#include "server/metrics/exposition.hpp"
#include "server/metrics/health.hpp"
#include "server/metrics/server_statistics.hpp"
#include "server/net/fork_guard.hpp"
#include "server/net/io_thread.hpp"
#include "server/net/peer.hpp"
#include "server/net/protection.hpp"
#include "server/net/realtime.hpp"
#include "server/net/sockets.hpp"
#include "server/net/tls.hpp"
#include "server/net/worker_io.hpp"
#include "server/program_calls.hpp"
#include "server/protocol/commands.hpp"
#include "server/replication/leadership.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
class service::impl final : public service_control {
public:
    explicit impl(settings given) : how{checked(std::move(given))} { procedures.set_cluster(how.cluster); }

    void check();
    void start();
    void drain();
    [[nodiscard]] bool responds() noexcept;
    [[nodiscard]] drain_obstacles awaited_by_drain();
    [[nodiscard]] std::string promote() override;
    [[nodiscard]] std::shared_ptr<const journal::handover_result> hand_over(
        std::string to, std::chrono::milliseconds time_limit) override;
    [[nodiscard]] std::string answer_order(std::uint64_t number, bool is_void) override {
        return leadership_->answer_order(number, is_void);
    }
    [[nodiscard]] std::string info() const override { return to_text(statistics()); }
    [[nodiscard]] bool renew_certificates();
    /// Returns the address of this server, for users.
    [[nodiscard]] std::string address() const {
        return port == 0 ? std::string{} : to_string(endpoint{how.host, port});
    }
    [[nodiscard]] server_statistics statistics() const;
    void call(std::string_view name, std::vector<std::string> arguments, const call_options& options,
              std::function<void(std::string_view)> then);

    const settings how;
    catalog procedures;
    std::uint16_t port = 0;
    std::atomic<std::uint16_t> metrics_port{0};  // kept after the listener is closed, because any thread may read it

private:
    void listen();
    void add_listening_socket(const handle& listener);
    void recover_from_log();
    void cache_reply(const journal::stored_reply& a);
    [[nodiscard]] bool is_idle() const;
    void allow_worker_io();
    void stop_listening() noexcept;
    void open_pages();
    [[nodiscard]] exposition::page show_metrics() const;
    [[nodiscard]] readiness readiness_now() const;
    [[nodiscard]] liveness liveness_now();

    void await_followers(instant until);
    void report_missing_on_followers() const;

    /// The current step of drain().
    enum class drain_step : std::uint8_t { none, calls, followers, snapshot, log, at_end };
    std::atomic<drain_step> drain_step_{drain_step::none};

    // The threads of the metrics pages use the objects that start() makes only after stage_ shows that the server
    // serves.
    std::atomic<stage> stage_{stage::loading};
    bool started_ = false;             // start() was called, so the server has something to end
    std::atomic<bool> serves_{false};  // start() has finished
    std::atomic<bool> drained_{false};
    instant start_time_;
    unsigned workers_ = 0;
    handle tcp_;
    local_listener local_;
    std::vector<handle> inherited_;
    std::deque<fork_guard> fork_guards_;
    std::optional<tls> tls_;
    std::unique_ptr<timeline> timeline_;
    std::unique_ptr<journal::journal> log_;
    std::unique_ptr<leadership> leadership_;  // only for a server with a log
    worker_io worker_io_;
    std::unique_ptr<executor> executor_;
    std::optional<crash_scope> crash_scope_;
    client_directory clients_;
    reply_cache replies_{
        {.answers = how.max_cached_replies, .bytes = how.max_buffered_bytes / 4, .time = how.reply_cache_ttl}};
    slow_log slow_{how.slow_log_slower_than, how.slow_log_max_len};
    accounts accounts_{how.users};
    std::unique_ptr<password_verifier> passwords_;
    std::unique_ptr<commands> commands_;
    std::unique_ptr<io_shared_state> shared_;
    std::unique_ptr<program_calls> own_calls_;
    std::optional<forwarding> forwarder_;  // only for a server in a cluster
    std::vector<std::unique_ptr<io_thread>> io_threads_;
    std::unique_ptr<exposition::web_server> pages_;
};

void service::impl::add_listening_socket(const handle& listener) {
    fork_guards_.emplace_back(listener.get());
    const bool local = is_local(listener);
    std::function<std::unique_ptr<stream>(handle)> make_stream = [](handle s) {
        return std::make_unique<stream>(std::move(s));
    };
    if (tls_ && !local) make_stream = [this](handle s) { return tls_->make_stream(std::move(s)); };
    shared_->listening_sockets.push_back(
        {listener, std::move(make_stream), local ? std::size_t{1} : 0, !is_bound_to_this_machine(listener.get())});
}

void service::impl::listen() {
    if (!how.tls.certificate.empty()) tls_.emplace(how.tls);
    if (how.port) {
        tcp_ = listen_tcp(how.host, *how.port);
        port = port_of(tcp_);
        add_listening_socket(tcp_);
    }
    if (!how.unix_socket.empty()) {
        local_ = listen_unix(how.unix_socket, how.unix_mode);
        add_listening_socket(local_.socket);
    }
    inherited_.reserve(how.inherited.size());  // listening sockets refer to its elements
    for (const int descriptor : how.inherited) {
        inherited_.push_back(adopt_listener(descriptor));
        if (port == 0) port = port_of(inherited_.back());
        add_listening_socket(inherited_.back());
    }
}

/// Stops listening. Called before the other steps of the shutdown, so that a new client is refused at once instead of
/// being admitted and closed. Inherited sockets continue to listen for the next process.
void service::impl::stop_listening() noexcept {
    server::stop_listening(tcp_);
    local_.stop();
}

void service::impl::check() {
    procedures.close();
    require_protection(how);
    require_known_ciphers(how.tls);
    require_realtime_priority(how.io_realtime);
    const execution chosen = executor_of(how);
    const unsigned workers = workers_for(how, chosen, std::thread::hardware_concurrency());
    timeline unseen{workers};
    const auto unused = make_executor(chosen, how, workers, procedures, unseen, nullptr);
    if (!how.tls.certificate.empty()) tls_.emplace(how.tls);
    if (how.log.file.empty()) return;
    // Checks only the folder, because the server that is to be replaced may still use the file.
    const std::filesystem::path folder = std::filesystem::absolute(how.log.file).parent_path();
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw std::runtime_error{"the log " + how.log.file + " cannot be written: the directory " + folder.string() +
                                 " does not exist, or this process may not create files in it"};
}

/// Restores the data from the log. Called before clients can connect.
void service::impl::recover_from_log() {
    if (how.log.file.empty()) return;
    log_ = std::make_unique<journal::journal>(how.log, [this](bool failed, const std::string& line) {
        how.log_callback(failed ? severity::error : severity::info, line);
    });
    for (const std::string& f : log_->file().findings()) how.log_callback(severity::warning, f);
    leadership_ =
        std::make_unique<leadership>(how, *log_, procedures,
                                     leadership::host{
                                         .cache_reply = [this](const journal::stored_reply& a) { cache_reply(a); },
                                         .is_idle = [this] { return is_idle(); },
                                     });
    leadership_->choose_role();
    const recovery_result r = recover(*log_, procedures, how.log.replay_limit);
    if (r.calls != 0 || r.snapshot_pieces != 0) {
        how.log_callback(
            severity::info,
            "the log " + how.log.file + " was read: " + std::to_string(r.calls) + " calls were run again, on " +
                (r.snapshot_pieces == 0 ? "no snapshot"
                                        : "a snapshot of " + std::to_string(r.snapshot_pieces) + " pieces"));
    }
    log_->read_answers([&](const journal::stored_reply& a) { cache_reply(a); });
    leadership_->assume_role();
}

void service::impl::cache_reply(const journal::stored_reply& a) {
    const instant now = std::chrono::steady_clock::now();
    const std::chrono::microseconds age{log_->reply_times().now() - a.at};
    if (age > how.reply_cache_ttl) return;
    replies_.restore(a.key, a.call, a.answer, now - std::chrono::duration_cast<instant::duration>(age));
}

std::string service::impl::promote() {
    if (leadership_) return leadership_->promote();
    return serves_ && !drained_ ? "this server does not follow another one" : "the server is not running";
}

std::shared_ptr<const journal::handover_result> service::impl::hand_over(std::string to,
                                                                         std::chrono::milliseconds time_limit) {
    if (leadership_) return leadership_->hand_over(std::move(to), time_limit);
    if (!serves_ || drained_) throw std::runtime_error{"the server is not running"};
    throw std::runtime_error{"this server has no log, so no server can follow it; start it with --log"};
}

/// Returns true if no call runs or waits for a worker. Calls that wait in `retry` do not count.
bool service::impl::is_idle() const {
    const auto now = executor_->current_load();
    return now.running == 0 && now.preempted == 0 && std::ranges::count(now.queued, 0U) == std::ssize(now.queued);
}

void service::impl::start() {
    if (started_) throw std::logic_error{"a service starts once"};
    procedures.close();
    require_protection(how);
    require_known_ciphers(how.tls);
    require_realtime_priority(how.io_realtime);
    open_pages();
    recover_from_log();
    if (how.report_crashes) catch_crashes();
    const execution chosen = executor_of(how);
    workers_ = workers_for(how, chosen, std::thread::hardware_concurrency());
    timeline_ = std::make_unique<timeline>(workers_);
    executor_ = make_executor(chosen, how, workers_, procedures, *timeline_, &worker_io_);
    if (how.report_crashes) crash_scope_.emplace(*executor_);
    own_calls_ = std::make_unique<program_calls>(how, *executor_, procedures.all(), slow_, log_.get());
    if (cluster::call_transport* const by = how.cluster == nullptr ? nullptr : how.cluster->calls(); by && how.forward)
        forwarder_.emplace(*by, procedures, *executor_, *own_calls_);
    passwords_ = std::make_unique<password_verifier>(accounts_);
    commands_ = std::make_unique<commands>(commands::server_parts{.how = how,
                                                                  .procedures = procedures,
                                                                  .users = accounts_,
                                                                  .recorder = *timeline_,
                                                                  .clients = clients_,
                                                                  .replies = replies_,
                                                                  .slow = slow_,
                                                                  .control = *this,
                                                                  .log = log_.get()});
    shared_.reset(new io_shared_state{.how = how,
                                      .known_commands = *commands_,
                                      .runs = *executor_,
                                      .workers = workers_,
                                      .listening_sockets = {},
                                      .directory = clients_,
                                      .replies = replies_,
                                      .passwords = *passwords_,
                                      .slow = slow_,
                                      .log = log_.get(),
                                      .forwarder = forwarder_ ? &*forwarder_ : nullptr});
    started_ = true;
    own_calls_->start();
    if (!accounts_.empty()) passwords_->start();
    start_time_ = std::chrono::steady_clock::now();
    listen();
    for (unsigned i = 0; i < how.io_threads && !shared_->listening_sockets.empty(); ++i)
        io_threads_.push_back(std::make_unique<io_thread>(*shared_, procedures.all().size()));
    for (const auto& r : io_threads_) r->start();
    allow_worker_io();
    if (forwarder_) forwarder_->start();
    if (leadership_)
        leadership_->start(address());  // the last step that may fail, because roles may change from here on
    serves_ = true;
    stage_.store(stage::serving, std::memory_order_release);
}

/// Allows idle workers to own the I/O threads' connections, except in three cases. With TLS, a handshake is a long
/// computation. In a cluster, finding the node of a call may take long. With `realtime_min_priority`, urgent calls
/// should run before other programs, but a worker that owns the I/O has no real-time priority. So urgent calls would
/// wait for other programs.
void service::impl::allow_worker_io() {
    if (tls_ || forwarder_ || how.preemption.realtime_min_priority) return;
    std::vector<io_thread*> threads;
    for (const auto& r : io_threads_) threads.push_back(r.get());
    worker_io_.set_threads(std::move(threads));
    for (const auto& r : io_threads_) r->allow_worker_io();
}

/// Opens the metrics pages. Called before the log is read, which may take long, so that an operator can see that the
/// server is loading.
void service::impl::open_pages() {
    if (!how.metrics_port) return;
    pages_ = std::make_unique<exposition::web_server>(
        how.metrics_host, *how.metrics_port,
        exposition::web_server::pages{{"/metrics", [this] { return show_metrics(); }},
                                      {"/healthz", [this] { return page_of(liveness_now()); }},
                                      {"/readyz", [this] { return page_of(readiness_now()); }}});
    metrics_port = pages_->port();
}

exposition::page service::impl::show_metrics() const {
    if (stage_.load(std::memory_order_acquire) == stage::loading) return page_of(readiness_now());
    return exposition::page_of(families_of(statistics()));
}

readiness service::impl::readiness_now() const {
    readiness now{.at = stage_.load(std::memory_order_acquire)};
    if (now.at == stage::loading) return now;
    now.queue_full = executor_->current_load().is_full();
    now.is_memory_full = shared_->bytes.is_used_up();
    now.clients_full = shared_->clients.load(std::memory_order_relaxed) >= how.max_clients;
    if (!log_) return now;
    now.log_error = log_->error();
    now.log_behind = log_->is_full();
    if (log_->followers().is_undecided()) now.undecided = log_->followers().write_refusal_reason();
    return now;
}

liveness service::impl::liveness_now() {
    // The timeout is as long as the default timeout of probes that restart programs.
    constexpr std::chrono::milliseconds timeout{1000}, pause{1};
    liveness now{.at = stage_.load(std::memory_order_acquire)};
    if (now.at == stage::loading) return now;
    now.workers = workers_;
    now.io_threads = io_threads_.size();
    std::vector<std::uint64_t> rounds;
    for (const auto& r : io_threads_) rounds.push_back(r->request_round());
    const instant until = std::chrono::steady_clock::now() + timeout;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        bool answers = false;
        while (!(answers = io_threads_[i]->has_started_round(rounds[i])) && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(pause);
        if (!answers) now.unresponsive.push_back(i);
    }
    const instant checked_at = std::chrono::steady_clock::now();
    for (const auto& r : io_threads_) r->stuck().add_to(now.stuck, checked_at);
    own_calls_->stuck().add_to(now.stuck, checked_at);
    return now;
}

void service::impl::drain() {
    if (!started_ || drained_.exchange(true)) return;
    if (serves_) stage_.store(stage::ending, std::memory_order_release);
    drain_step_ = drain_step::calls;
    if (leadership_) leadership_->begin_shutdown();
    stop_listening();
    own_calls_->begin_drain();
    if (log_) log_->stop_waiting_for_disk();
    const bool leads = log_ && serves_ && log_->followers().accepts_writes();
    shared_->serves_followers_at_end = leads;
    const instant began = std::chrono::steady_clock::now();
    // I/O threads are drained first. They end when everything that they have submitted is completed and answered.
    for (const auto& r : io_threads_) r->begin_drain();
    passwords_->begin_drain();
    executor_->end_waits();
    // The wait leaves a tenth of the time for the steps below.
    if (leads)
        await_followers(how.shutdown_timeout.count() == 0 ? instant::max() : began + how.shutdown_timeout * 9 / 10);
    shared_->serves_followers_at_end = false;
    if (log_) log_->followers().begin_drain();
    for (const auto& r : io_threads_) r->join();
    passwords_.reset();
    executor_->drain();
    if (leads) report_missing_on_followers();
    if (forwarder_) forwarder_->stop();
    drain_step_ = drain_step::snapshot;
    if (leadership_) leadership_->store_final_snapshot();
    drain_step_ = drain_step::log;
    if (leadership_) leadership_->end();
    if (log_) log_->end();  // ended before own_calls_, which own the calls that the log holds
    own_calls_->stop();
    fork_guards_.clear();
    tcp_.close();
    local_.socket.close();
    inherited_.clear();
    pages_.reset();  // the pages use objects that end with this object
    if (!serves_) return;
    drain_step_ = drain_step::at_end;
    std::exception_ptr failure;
    for (const auto& f : procedures.end_callbacks()) {
        try {
            f();
        } catch (...) {
            if (failure == nullptr) failure = std::current_exception();
        }
    }
    if (failure != nullptr) std::rethrow_exception(failure);
}

/// Waits until the followers have the whole log. In a planned switch-over, the leader ends and a follower is promoted,
/// so the follower must have every answered call. First waits until all calls have ended, so that the log no longer
/// grows. Then waits until connected followers have fetched the whole log. With each fetch, a follower states which
/// position is on its disk (replication.hpp).
void service::impl::await_followers(instant until) {
    constexpr std::chrono::milliseconds pause{1};
    const auto continues = [&] {
        return shared_->follower_clients.load() != 0 && std::chrono::steady_clock::now() < until;
    };
    const auto are_over = [&] {
        return own_calls_->has_no_calls() && std::ranges::all_of(io_threads_, &io_thread::has_no_calls);
    };
    while (!are_over() && continues()) std::this_thread::sleep_for(pause);
    if (!are_over()) return;  // the time is over, or no follower is connected
    const std::uint64_t end = log_->next_position();
    const auto lack = [&] {
        const auto all = log_->followers().statistics().followers;
        return std::ranges::count_if(all, [&](const auto& f) { return f.position < end; });
    };
    drain_step_ = drain_step::followers;
    for (bool reported = false; continues() && !log_->has_error(); std::this_thread::sleep_for(pause)) {
        const auto behind = lack();
        if (behind == 0) break;
        if (!std::exchange(reported, true))
            how.log_callback(severity::info,
                             "the shutdown waits for followers that lack calls: " + std::to_string(behind));
    }
    drain_step_ = drain_step::calls;
}

void service::impl::report_missing_on_followers() const {
    const std::uint64_t end = log_->next_position();
    for (const auto& f : log_->followers().statistics().followers) {
        if (f.position >= end) continue;
        how.log_callback(severity::warning, "the follower at " + f.address + " lacks the last " +
                                                std::to_string(end - f.position) + " calls; its last request was " +
                                                std::to_string(f.silent.count()) +
                                                " ms ago. If it is promoted, these calls are lost");
    }
}

drain_obstacles service::impl::awaited_by_drain() {
    drain_obstacles found;
    switch (drain_step_.load()) {
        case drain_step::none:
            found.lines.emplace_back(
                serves_ ? "the shutdown has not begun"
                        : "the server is still starting: it reads its log, or waits for other servers");
            return found;
        case drain_step::calls:
            for (const auto& r : io_threads_) r->unfinished().add_to(found.lines);
            own_calls_->add_unfinished(found.lines);
            if (found.lines.empty()) found.lines.emplace_back("clients that have not closed their connections");
            break;
        case drain_step::followers: found.lines.emplace_back("followers that lack calls"); break;
        case drain_step::snapshot:
            found.lines.emplace_back("the final snapshot is being written");
            found.saves_data = true;
            return found;
        case drain_step::log: found.lines.emplace_back("the log is being written"); return found;
        case drain_step::at_end:
            found.lines.emplace_back("a function that procedures have registered by at_end");
            break;
    }
    if (!log_) return found;
    // Unless each answer waits for the disk, answered calls may not be on the disk yet, so this waits briefly for the
    // log.
    constexpr std::chrono::milliseconds timeout{500}, pause{1};
    const instant until = std::chrono::steady_clock::now() + timeout;
    const std::uint64_t end = log_->next_position();
    while (log_->durable() < end && !log_->has_error() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(pause);
    if (log_->durable() < end)
        found.lines.push_back("the log cannot be written: " + (log_->has_error() ? log_->error() : "it hangs"));
    return found;
}

bool service::impl::renew_certificates() {
    if (!serves_ || !tls_) return false;
    tls_->renew();
    return true;
}

bool service::impl::responds() noexcept {
    bool all = true;
    for (const auto& r : io_threads_) all = r->responds() && all;  // requests a new round of each thread
    return all;
}

server_statistics service::impl::statistics() const {
    server_statistics s;
    if (!started_) return s;
    s.up = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_time_);
    s.workers = workers_;
    s.executor = executor_->name();
    s.busy = executor_->current_load();
    s.resident_bytes = resident_bytes();
    s.buffered_bytes = shared_->bytes.held();
    s.buffered_bytes_of_clients = clients_.held();
    s.buffered_bytes_of_calls = shared_->calls.held();
    s.latest_eviction = shared_->evictions.latest();
    for (const procedure_entry& e : procedures.all())
        s.procedures.push_back({e.definition.name, e.definition.options.priority, {}, {}});
    for (const auto& r : io_threads_) add(s, r->counts());
    add(s, own_calls_->counts());
    add_transactions(s);
    if (how.cluster != nullptr) s.cluster = how.cluster->statistics();
    if (forwarder_) s.forwarded_calls = forwarder_->statistics();
    if (log_) {
        s.log = log_->statistics();
        s.replication = log_->followers().statistics();
    }
    return s;
}

void service::impl::call(std::string_view name, std::vector<std::string> arguments, const call_options& options,
                         std::function<void(std::string_view)> then) {
    std::string refused;
    reply to{refused, protocol::resp3};
    const procedure_entry* const which = procedures.find(name);
    if (which == nullptr) {
        to.error("NOPROC", "unknown procedure '" + std::string{name} + "'");
    } else if (log_ && !which->definition.options.read_only && !log_->followers().accepts_writes()) {
        to.error("READONLY", which->definition.name + ": " + log_->followers().write_refusal_reason());
    } else if (accepts_arguments(*which, arguments.size(), to)) {
        invocation what{.entry = which, .how = {}, .spoken = protocol::resp3};
        try {
            set_priority_and_deadline(what, options.priority, options.deadline, std::chrono::steady_clock::now());
            return own_calls_->call(
                what, std::move(arguments),
                [taker = std::move(then)](std::string_view answer, call_outcome) { taker(answer); });
        } catch (const bad_argument& e) {
            to.error(code_of(call_outcome::argument), e.what());
        }
    }
    then(refused);
}

service::service(settings how) : impl_{std::make_unique<impl>(std::move(how))} {}

service::~service() {
    try {
        impl_->drain();
    } catch (...) {
        // The error is dropped. A caller that needs the error has to call drain() before.
    }
}

registry& service::procedures() noexcept { return impl_->procedures; }
void service::load(const std::string& shared_object) { impl_->procedures.load(shared_object); }
void service::set(std::string name, std::string value) { impl_->procedures.set(std::move(name), std::move(value)); }
std::vector<std::string> service::unused_settings() const { return impl_->procedures.unused_settings(); }
void service::check() { impl_->check(); }
std::string service::promote() { return impl_->promote(); }
std::string service::hand_over(const std::string& to, std::chrono::milliseconds time_limit) {
    try {
        const auto outcome = impl_->hand_over(to, time_limit);
        outcome->is_over.wait(false);
        return outcome->error;
    } catch (const std::runtime_error& e) {
        return e.what();
    }
}
drain_obstacles service::awaited_by_drain() { return impl_->awaited_by_drain(); }
bool service::renew_certificates() { return impl_->renew_certificates(); }
bool service::responds() noexcept { return impl_->responds(); }
void service::start() { impl_->start(); }
void service::drain() { impl_->drain(); }
std::uint16_t service::port() const noexcept { return impl_->port; }
std::uint16_t service::metrics_port() const noexcept { return impl_->metrics_port; }
std::string service::info() const { return impl_->info(); }
void service::call_raw(std::string_view name, std::vector<std::string> arguments, const call_options& how,
                       std::function<void(std::string_view)> then) {
    impl_->call(name, std::move(arguments), how, std::move(then));
}

std::string_view detail::scalar_of(std::string_view answer) {
    const std::size_t end = answer.find("\r\n");
    const std::string_view first = answer.substr(1, end - 1);
    switch (answer.front()) {
        case '-': {
            const std::size_t blank = first.find(' ');
            throw call_error{std::string{first.substr(0, blank)}, std::string{first.substr(blank + 1)}};
        }
        case '$': return answer.substr(end + 2, answer.size() - end - 4);
        case '#': return first == "t" ? "1" : "0";
        default: return first;
    }
}

}  // namespace tutti::server
