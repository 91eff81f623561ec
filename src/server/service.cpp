#include "tutti/server/service.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "exposition/web_server.hpp"
#include "server/calls/catalog.hpp"
#include "server/calls/crash_report.hpp"
#include "server/calls/executors.hpp"
#include "server/calls/recovery.hpp"
#include "server/calls/snapshotter.hpp"
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
#include "server/replication/demotion_notifier.hpp"
#include "server/replication/follower.hpp"
#include "server/replication/handover.hpp"
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
    [[nodiscard]] std::string promote() override { return promote(operators_order); }
    [[nodiscard]] std::shared_ptr<const journal::handover_result> hand_over(
        std::string to, std::chrono::milliseconds time_limit) override;
    [[nodiscard]] std::string answer_order(std::uint64_t number, bool is_void) override;
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
    static constexpr std::uint64_t operators_order = 0;

    void listen();
    void add_listening_socket(const handle& listener);
    void recover_from_log();
    void cache_reply(const journal::stored_reply& a);
    void start_snapshotter();
    [[nodiscard]] std::optional<leader_settings> leader_at_start();
    void make_follower(const leader_settings& of);
    void handle_order(std::uint64_t number);
    /// Promotes this server. `order`: the number of the order of a leader that hands over leadership, or
    /// `operators_order`. On failure, returns the reason.
    [[nodiscard]] std::string promote(std::uint64_t order);
    void step_down(const leader_settings& to);
    [[nodiscard]] std::string lead_in_doubt();
    [[nodiscard]] std::string decide();
    [[nodiscard]] bool is_idle() const;
    void add_former_leader(const leader_settings& l);
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
    std::unique_ptr<snapshotter> snapshotter_;
    std::unique_ptr<follower> follower_;  // kept after a promotion
    std::unique_ptr<demotion_notifier> demotion_notifier_;
    std::mutex promotion_;  // guards promotions, which begin only after the start has ended
    std::set<std::uint64_t>
        cancelled_orders_;  // orders of leaders that this server must not follow; guarded by promotion_
    /// Passes an order to lead to the thread that executes promotions. Only one order at a time is in progress.
    class ordered_promotion final : public journal::deferred_request {
    public:
        void complete(std::string) noexcept override { is_in_progress = false; }
        [[nodiscard]] bool is_client_gone() const noexcept override { return false; }
        std::atomic<bool> is_in_progress{false};
    } ordered_;
    std::mutex handing_over_;  // guards the use of handover_; taken before promotion_, if both are
    std::unique_ptr<handover> handover_;
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
    const std::optional<leader_settings> leader = leader_at_start();
    if (leader) {
        make_follower(*leader);
        follower_->catch_up();
    } else if (const auto all = log_->file().leader_epochs();
               log_->file().announced_term() > (all.empty() ? 0 : all.back().term)) {
        throw std::runtime_error{"the log " + how.log.file + " is of term " +
                                 std::to_string(all.empty() ? 0 : all.back().term) +
                                 ", and another server leads in term " + std::to_string(log_->file().announced_term()) +
                                 ": start this server with --follow and the leader's address"};
    }
    const recovery_result r = recover(*log_, procedures, how.log.replay_limit);
    if (r.calls != 0 || r.snapshot_pieces != 0) {
        how.log_callback(
            severity::info,
            "the log " + how.log.file + " was read: " + std::to_string(r.calls) + " calls were run again, on " +
                (r.snapshot_pieces == 0 ? "no snapshot"
                                        : "a snapshot of " + std::to_string(r.snapshot_pieces) + " pieces"));
    }
    log_->read_answers([&](const journal::stored_reply& a) { cache_reply(a); });
    if (follower_) {
        log_->followers().set_link_status_source([this] { return follower_->status(); });
        log_->file().forget_former_leader(follower_->leader().host, follower_->leader().port);
        const leader_settings& found = follower_->leader();
        return log_->follow(to_string(endpoint{found.host, found.port}));
    }
    log_->begin();
    start_snapshotter();
}

/// Returns the leader that this server follows, if any: the leader in the options, unless a handover is newer than the
/// options.
std::optional<leader_settings> service::impl::leader_at_start() {
    std::optional<leader_settings> leader;
    if (!how.follow.host.empty()) leader = how.follow;
    journal::log_store& file = log_->file();
    const std::optional<journal::handed_over> latest = file.latest_handover();
    if (!latest) return leader;
    const std::string other = to_string(endpoint{latest->host, latest->port});
    // The options may name a server that has redirected this server to the other server of the handover.
    const journal::redirection::address there{.host = latest->host, .port = latest->port};
    const auto is_led_to = [&](const journal::redirection::address& named) {
        const std::optional<journal::redirection> found = file.latest_redirection();
        return named == there || (found && found->from == named && found->to == there);
    };
    const bool is_named = leader && is_led_to({.host = leader->host, .port = leader->port});
    if (!latest->leads && !leader) {
        leader = how.follow;
        leader->host = latest->host;
        leader->port = latest->port;
        how.log_callback(severity::info,
                         "this server has handed over leadership to " + other + ", and follows that server");
    } else if (latest->leads && is_named) {
        const std::vector<journal::leader_epoch> all = file.leader_epochs();
        if (all.empty() || file.announced_term() > all.back().term) return leader;  // another server has led meanwhile
        leader.reset();
        how.log_callback(severity::info, other + " has handed over leadership to this server");
    } else if (!is_named) {
        file.forget_handover();  // the options are newer
    }
    return leader;
}

void service::impl::make_follower(const leader_settings& of) {
    follower_ = std::make_unique<follower>(
        how, of, *log_, procedures, [this](const journal::stored_reply& a) { cache_reply(a); },
        [this](std::uint64_t order) { handle_order(order); });
}

void service::impl::cache_reply(const journal::stored_reply& a) {
    const instant now = std::chrono::steady_clock::now();
    const std::chrono::microseconds age{log_->reply_times().now() - a.at};
    if (age > how.reply_cache_ttl) return;
    replies_.restore(a.key, a.call, a.answer, now - std::chrono::duration_cast<instant::duration>(age));
}

void service::impl::start_snapshotter() {
    snapshotter_ =
        std::make_unique<snapshotter>(*log_, procedures, std::make_unique<leader_position>(*log_),
                                      [this](const std::string& line) { how.log_callback(severity::error, line); });
}

void service::impl::add_former_leader(const leader_settings& l) {
    log_->with_file([&](journal::log_store& file) {
        file.add_former_leader({.host = l.host, .port = l.port, .user = l.user, .tls_authority = l.tls_authority});
    });
}

/// Passes on an order to lead. The calling thread follows the leader, and a promotion ends that thread, so another
/// thread has to execute the promotion.
void service::impl::handle_order(std::uint64_t number) {
    if (ordered_.is_in_progress.exchange(true)) return;
    ordered_.what = journal::deferred_request::kind::task;
    ordered_.task = [this, number](std::string&) {
        if (const std::string why_not = promote(number); !why_not.empty())
            how.log_callback(severity::warning, "the leader hands over leadership to this server: " + why_not);
    };
    log_->followers().submit(ordered_);
}

/// Answers a leader's request for the outcome of its order. Holds the lock of promotions, so no later promotion follows
/// an order that becomes void here.
std::string service::impl::answer_order(std::uint64_t number, bool is_void) {
    const std::scoped_lock lock{promotion_};
    const journal::replication_statistics now = log_->followers().statistics();
    if (now.leads) return "LEADS " + std::to_string(now.epoch.term);
    if (!follower_) return "STARTS 0";
    if (is_void) cancelled_orders_.insert(number);
    return (is_void ? "VOID " : "FOLLOWS ") + std::to_string(follower_->id());
}

std::shared_ptr<const journal::handover_result> service::impl::hand_over(std::string to,
                                                                         std::chrono::milliseconds time_limit) {
    const std::scoped_lock lock{handing_over_};
    if (!serves_ || drained_) throw std::runtime_error{"the server is not running"};
    if (!log_) throw std::runtime_error{"this server has no log, so no server can follow it; start it with --log"};
    if (!log_->followers().accepts_writes()) throw std::runtime_error{log_->followers().write_refusal_reason()};
    return handover_->begin(std::move(to), time_limit);
}

/// Returns true if no call runs or waits for a worker. Calls that wait in `retry` do not count.
bool service::impl::is_idle() const {
    const auto now = executor_->current_load();
    return now.running == 0 && now.preempted == 0 && std::ranges::count(now.queued, 0U) == std::ssize(now.queued);
}

/// Makes this server follow the other server. Called on the thread that hands over. REQUIRES: the other server leads,
/// and has everything that this server has.
void service::impl::step_down(const leader_settings& to) {
    const std::scoped_lock lock{promotion_};
    if (drained_) throw std::runtime_error{"the server is shutting down"};
    demotion_notifier_->stop();
    if (snapshotter_) snapshotter_->stop();
    snapshotter_.reset();
    const bool is_named = how.follow.host.empty() || (how.follow.host == to.host && how.follow.port == to.port);
    log_->with_file([&](journal::log_store& file) {
        file.forget_former_leader(to.host, to.port);
        file.record_handover({.leads = false, .host = to.host, .port = to.port});
        // If the next start has the same options, it tries the server in the options first, so the redirection from
        // that server is recorded.
        if (is_named) file.forget_redirection();
        else file.record_redirection({.from = {how.follow.host, how.follow.port}, .to = {to.host, to.port}});
    });
    // Replaces an earlier follower_, which stopped when this server was promoted.
    make_follower(is_named ? to : how.follow);
    log_->followers().set_link_status_source([this] { return follower_->status(); });
    log_->yield_lead_to(to_string(endpoint{to.host, to.port}));
    follower_->start(address());
    demotion_notifier_->start(address());
}

/// Handles an operator's decision that the follower that was ordered to lead does not lead.
std::string service::impl::lead_in_doubt() {
    try {
        add_former_leader(handover_->resume_leading());
        const std::scoped_lock lock{promotion_};
        how.log_callback(severity::info,
                         "this server leads, in term " + std::to_string(log_->followers().statistics().epoch.term));
        demotion_notifier_->stop();
        demotion_notifier_->start(address());
        return {};
    } catch (const std::exception& e) {
        return std::string{"this server cannot lead: "} + e.what();
    }
}

/// Handles an operator's decision that this server leads, although a follower has calls that this server lacks, or has
/// not connected.
std::string service::impl::decide() {
    const std::scoped_lock both{handing_over_, promotion_};
    if (!serves_ || drained_) return "the server is not running";
    if (handover_->is_in_progress()) return "FAILOVER already in progress.";
    try {
        log_->resume_leading();
        how.log_callback(severity::info,
                         "this server leads, in term " + std::to_string(log_->followers().statistics().epoch.term));
        return {};
    } catch (const std::exception& e) {
        return std::string{"this server cannot lead: "} + e.what();
    }
}

std::string service::impl::promote(std::uint64_t order) {
    if (const std::scoped_lock lock{handing_over_}; order == operators_order && handover_ && handover_->is_in_doubt())
        return lead_in_doubt();
    if (order == operators_order && log_ && log_->followers().is_undecided()) return decide();
    const std::scoped_lock lock{promotion_};
    if (!serves_ || drained_) return "the server is not running";
    if (cancelled_orders_.contains(order)) return "the leader has withdrawn this order";
    if (!follower_) return "this server does not follow another one";
    if (log_->followers().statistics().leads) return {};  // promoted already
    if (const std::string why = follower_->stop(); !why.empty())
        return "this server cannot lead, because its data do not match its log: " + why;
    try {
        // The former leader is recorded first. If a crash prevents the message to the former leader, the next start
        // sends it.
        const leader_settings& former = follower_->leader();
        add_former_leader(former);
        // The handover is written together with the leader epoch, so that a start finds both or neither.
        std::optional<journal::handed_over> latest;
        if (order != operators_order) latest = {.leads = true, .host = former.host, .port = former.port};
        log_->begin(latest);
        start_snapshotter();
        how.log_callback(severity::info,
                         "this server leads, in term " + std::to_string(log_->followers().statistics().epoch.term));
        demotion_notifier_->stop();
        demotion_notifier_->start(address());
        return {};
    } catch (const std::exception& e) {
        if (log_->followers().statistics().leads) {
            return std::string{"this server leads, but takes no snapshots, or does not notify its former leader: "} +
                   e.what() + ". Restart it without --follow";
        }
        follower_->resume();
        return std::string{"this server cannot lead: "} + e.what();
    }
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
    // These locks are necessary because a client may already request a promotion, and a leader may order one.
    const std::scoped_lock both{handing_over_, promotion_};
    if (log_) {
        demotion_notifier_ = std::make_unique<demotion_notifier>(how, *log_);
        demotion_notifier_->start(address());
        handover_ =
            std::make_unique<handover>(how, *log_,
                                       handover::host{.is_idle = [this] { return is_idle(); },
                                                      .follow = [this](const leader_settings& to) { step_down(to); },
                                                      .log = how.log_callback});
    }
    if (follower_) follower_->start(address());
    if (forwarder_) forwarder_->start();
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
    // Waits for a promotion that has already begun. A later promotion sees drained_ and does nothing.
    { const std::scoped_lock lock{promotion_}; }
    bool is_in_doubt = false;
    if (const std::scoped_lock lock{handing_over_}; handover_) {
        handover_->stop();
        is_in_doubt = handover_->is_in_doubt();
    }
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
    if (snapshotter_) {
        snapshotter_->stop();
        // If a handover is in doubt, the other server may have logged calls after the end of this log. A snapshot would
        // then use the position of one of these calls.
        if (!is_in_doubt) snapshotter_->take_final();
        snapshotter_.reset();
    }
    if (follower_) {
        const bool is_whole = follower_->stop().empty();
        if (is_whole && !log_->followers().statistics().leads) follower_->store_snapshot();
    }
    drain_step_ = drain_step::log;
    demotion_notifier_.reset();
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
