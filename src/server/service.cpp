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
#include "server/calls/snapshots.hpp"
#include "server/checked_settings.hpp"
#include "server/metrics/exposition.hpp"
#include "server/metrics/health.hpp"
#include "server/metrics/snapshot.hpp"
#include "server/net/deputies.hpp"
#include "server/net/fork_guard.hpp"
#include "server/net/io_thread.hpp"
#include "server/net/peer.hpp"
#include "server/net/protection.hpp"
#include "server/net/realtime.hpp"
#include "server/net/sockets.hpp"
#include "server/net/tls.hpp"
#include "server/program_calls.hpp"
#include "server/protocol/commands.hpp"
#include "server/replication/follower.hpp"
#include "server/replication/handover.hpp"
#include "server/replication/herald.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
class service::body {
public:
    explicit body(settings given) : how{checked(std::move(given))} { procedures.share(how.cluster); }

    void check();
    void start();
    void drain();
    [[nodiscard]] bool responds() noexcept;
    [[nodiscard]] drain_obstacles awaited_by_drain();
    /// Promotes this server. `order`: number of the order of a leader that hands over its lead; 0: an operator's order.
    /// Returns the reason if it fails.
    [[nodiscard]] std::string promote(std::uint64_t order = 0);
    /// Begins to hand over the lead. @throws std::runtime_error  if it cannot begin
    [[nodiscard]] std::shared_ptr<const journal::handover_outcome> hand_over(std::string to,
                                                                             std::chrono::milliseconds longest);
    [[nodiscard]] bool renew_certificates();
    /// Returns the address of this server, for users.
    [[nodiscard]] std::string address() const {
        return port == 0 ? std::string{} : to_string(endpoint{how.host, port});
    }
    [[nodiscard]] snapshot look() const;
    void call(std::string_view name, std::vector<std::string> arguments, const call_options& options,
              std::function<void(std::string_view)> then);

    const settings how;
    catalog procedures;
    std::uint16_t port = 0;
    std::atomic<std::uint16_t> metrics_port{0};  // kept when the listener is gone: any thread may ask

private:
    void listen();
    void enter(const handle& listener);
    void recover_from_log();
    void keep_answer(const journal::kept_answer& a);
    void take_snapshots();
    [[nodiscard]] std::optional<leader_settings> leader_at_start();
    void make_follower(const leader_settings& of);
    void take_order(std::uint64_t number);
    [[nodiscard]] std::string answer_order(std::uint64_t number, bool is_void);
    void step_down(const leader_settings& to);
    [[nodiscard]] std::string lead_in_doubt();
    [[nodiscard]] std::string decide();
    [[nodiscard]] bool is_idle() const;
    void add_former_leader(const leader_settings& l);
    void open_deputies();
    void stop_listening() noexcept;
    void open_pages();
    [[nodiscard]] exposition::page show_metrics() const;
    [[nodiscard]] readiness readiness_now() const;
    [[nodiscard]] liveness liveness_now();

    void await_followers(instant until);
    void tell_what_followers_lack() const;

    /// The current step of drain().
    enum class drain_step : std::uint8_t { none, calls, followers, snapshot, log, at_end };
    std::atomic<drain_step> drain_step_{drain_step::none};

    // The pages' threads use the objects that start() makes only after stage_ says that the server serves.
    std::atomic<stage> stage_{stage::loading};
    bool started_ = false;             // the server has something to end
    std::atomic<bool> serves_{false};  // start() has finished
    std::atomic<bool> drained_{false};
    instant start_time_;
    unsigned workers_ = 0;
    handle tcp_;
    local_listener local_;
    std::vector<handle> inherited_;
    std::deque<fork_guard> guards_;
    std::optional<tls> tls_;
    std::unique_ptr<timeline> shown_;
    std::unique_ptr<journal::journal> log_;
    std::unique_ptr<snapshots> snapshots_;
    std::unique_ptr<follower> follower_;  // kept after a promotion
    std::unique_ptr<herald> herald_;
    std::mutex promotion_;                 // guards promotions, which begin only after the start has ended
    std::set<std::uint64_t> void_orders_;  // orders of leaders that this server must not follow; guarded by promotion_
    /// Passes an order to lead to the thread that promotes servers, one at a time.
    class ordered_promotion final : public journal::inquiry {
    public:
        void answered(std::string) noexcept override { is_under_way = false; }
        [[nodiscard]] bool is_left() const noexcept override { return false; }
        std::atomic<bool> is_under_way{false};
    } ordered_;
    std::mutex handing_over_;  // guards the use of handover_; taken before promotion_, if both are
    std::unique_ptr<handover> handover_;
    deputies deputies_;
    std::unique_ptr<executor> executor_;
    std::optional<crash_witness> witness_;
    client_directory clients_;
    remembered answers_{{.answers = how.remembered, .bytes = how.max_held / 4, .time = how.remember_for}};
    slow_log slow_{how.slow_log_slower_than, how.slow_log_max_len};
    accounts accounts_{how.users};
    std::unique_ptr<doorkeeper> door_;
    std::unique_ptr<commands> commands_;
    std::unique_ptr<common> shared_;
    std::unique_ptr<program_calls> own_calls_;
    std::optional<forwarding> elsewhere_;  // only of a server in a cluster
    std::vector<std::unique_ptr<io_thread>> io_threads_;
    std::unique_ptr<exposition::web_server> pages_;
};

void service::body::enter(const handle& listener) {
    guards_.emplace_back(listener.get());
    const bool local = is_local(listener);
    std::function<std::unique_ptr<stream>(handle)> greet = [](handle s) {
        return std::make_unique<stream>(std::move(s));
    };
    if (tls_ && !local) greet = [this](handle s) { return tls_->greet(std::move(s)); };
    shared_->entrances.push_back(
        {listener, std::move(greet), local ? std::size_t{1} : 0, !is_bound_to_this_machine(listener.get())});
}

void service::body::listen() {
    if (!how.tls.certificate.empty()) tls_.emplace(how.tls);
    if (how.port) {
        tcp_ = listen_tcp(how.host, *how.port);
        port = port_of(tcp_);
        enter(tcp_);
    }
    if (!how.unix_socket.empty()) {
        local_ = listen_unix(how.unix_socket, how.unix_mode);
        enter(local_.socket);
    }
    inherited_.reserve(how.inherited.size());  // entrances refer to its elements
    for (const int descriptor : how.inherited) {
        inherited_.push_back(take_over(descriptor));
        if (port == 0) port = port_of(inherited_.back());
        enter(inherited_.back());
    }
}

/// Stops listening, before anything else. So a new client is refused at once instead of being let in and sent away.
/// Inherited sockets continue to listen for the next process.
void service::body::stop_listening() noexcept {
    server::stop_listening(tcp_);
    local_.stop();
}

void service::body::check() {
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
    // The file itself may belong to the server that is to be replaced.
    const std::filesystem::path folder = std::filesystem::absolute(how.log.file).parent_path();
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw std::runtime_error{"the log " + how.log.file + " cannot be written: there is no folder " +
                                 folder.string() + " where this process may make files"};
}

/// Restores the data from the log, before clients call.
void service::body::recover_from_log() {
    if (how.log.file.empty()) return;
    log_ = std::make_unique<journal::journal>(how.log, [this](bool failed, const std::string& line) {
        how.notice(failed ? severity::error : severity::info, line);
    });
    for (const std::string& f : log_->file().findings()) how.notice(severity::warning, f);
    const std::optional<leader_settings> leader = leader_at_start();
    if (leader) {
        make_follower(*leader);
        follower_->catch_up();
    } else if (const auto all = log_->file().branches();
               log_->file().heard_term() > (all.empty() ? 0 : all.back().term)) {
        throw std::runtime_error{"the log " + how.log.file + " is of term " +
                                 std::to_string(all.empty() ? 0 : all.back().term) +
                                 ", and another server leads in term " + std::to_string(log_->file().heard_term()) +
                                 ": start this one with --follow and that one's address"};
    }
    const recovered r = recover(*log_, procedures, how.log.replay_limit);
    if (r.calls != 0 || r.pieces != 0) {
        how.notice(severity::info,
                   "the log " + how.log.file + " was read: " + std::to_string(r.calls) + " calls were run again, on " +
                       (r.pieces == 0 ? "no snapshot" : "a snapshot of " + std::to_string(r.pieces) + " pieces"));
    }
    log_->read_answers([&](const journal::kept_answer& a) { keep_answer(a); });
    if (follower_) {
        log_->others().show_link([this] { return follower_->look(); });
        log_->file().forget_former_leader(follower_->leader().host, follower_->leader().port);
        const leader_settings& found = follower_->leader();
        return log_->follow(to_string(endpoint{found.host, found.port}));
    }
    log_->begin();
    take_snapshots();
}

/// Returns the leader that this server follows: the one in the options, unless a hand-over is newer than the options.
std::optional<leader_settings> service::body::leader_at_start() {
    std::optional<leader_settings> leader;
    if (!how.follow.host.empty()) leader = how.follow;
    journal::store& file = log_->file();
    const std::optional<journal::handed_over> latest = file.latest_handover();
    if (!latest) return leader;
    const std::string other = to_string(endpoint{latest->host, latest->port});
    // The options may name a server that has redirected this one to the server of the hand-over.
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
        how.notice(severity::info, "this server has handed its lead over to " + other + ", and follows it");
    } else if (latest->leads && is_named) {
        const std::vector<journal::branch> all = file.branches();
        if (all.empty() || file.heard_term() > all.back().term) return leader;  // another server has led since
        leader.reset();
        how.notice(severity::info, other + " has handed its lead over to this server, which leads");
    } else if (!is_named) {
        file.forget_handover();  // the options are newer
    }
    return leader;
}

void service::body::make_follower(const leader_settings& of) {
    follower_ = std::make_unique<follower>(
        how, of, *log_, procedures, [this](const journal::kept_answer& a) { keep_answer(a); },
        [this](std::uint64_t order) { take_order(order); });
}

void service::body::keep_answer(const journal::kept_answer& a) {
    const instant now = std::chrono::steady_clock::now();
    const std::chrono::microseconds age{log_->times().now() - a.at};
    if (age > how.remember_for) return;
    answers_.learn(a.key, a.call, a.answer, now - std::chrono::duration_cast<instant::duration>(age));
}

void service::body::take_snapshots() {
    snapshots_ = std::make_unique<snapshots>(*log_, procedures, std::make_unique<leading_position>(*log_),
                                             [this](const std::string& line) { how.notice(severity::error, line); });
}

void service::body::add_former_leader(const leader_settings& l) {
    log_->with_file([&](journal::store& file) {
        file.add_former_leader({.host = l.host, .port = l.port, .user = l.user, .tls_authority = l.tls_authority});
    });
}

/// Passes on an order to lead. The calling thread is the one that follows, and a promotion ends it, so another thread
/// promotes.
void service::body::take_order(std::uint64_t number) {
    if (ordered_.is_under_way.exchange(true)) return;
    ordered_.what = journal::inquiry::kind::task;
    ordered_.task = [this, number](std::string&) {
        if (const std::string why_not = promote(number); !why_not.empty())
            how.notice(severity::warning, "the leader hands its lead over to this server: " + why_not);
    };
    log_->others().ask(ordered_);
}

/// Answers a leader's question about its order. Holds the lock of promotions, so an order that becomes void here leads
/// to no later promotion.
std::string service::body::answer_order(std::uint64_t number, bool is_void) {
    const std::scoped_lock lock{promotion_};
    const journal::replication_figures now = log_->others().look();
    if (now.leads) return "LEADS " + std::to_string(now.now.term);
    if (!follower_) return "STARTS 0";
    if (is_void) void_orders_.insert(number);
    return (is_void ? "VOID " : "FOLLOWS ") + std::to_string(follower_->id());
}

std::shared_ptr<const journal::handover_outcome> service::body::hand_over(std::string to,
                                                                          std::chrono::milliseconds longest) {
    const std::scoped_lock lock{handing_over_};
    if (!serves_ || drained_) throw std::runtime_error{"the server does not serve"};
    if (!log_) throw std::runtime_error{"this server has no log, so nobody follows it: --log"};
    if (!log_->others().takes_writes()) throw std::runtime_error{log_->others().why_no_writes()};
    return handover_->begin(std::move(to), longest);
}

/// Returns true if no call runs or waits for a worker. Calls that wait in `retry` do not count.
bool service::body::is_idle() const {
    const auto now = executor_->current_load();
    return now.running == 0 && now.preempted == 0 && std::ranges::count(now.waiting, 0U) == std::ssize(now.waiting);
}

/// Makes this server follow the other one, on the thread that hands over. The other server leads, and has everything
/// that this one has.
void service::body::step_down(const leader_settings& to) {
    const std::scoped_lock lock{promotion_};
    if (drained_) throw std::runtime_error{"the server ends"};
    herald_->stop();
    if (snapshots_) snapshots_->stop();
    snapshots_.reset();
    const bool is_named = how.follow.host.empty() || (how.follow.host == to.host && how.follow.port == to.port);
    log_->with_file([&](journal::store& file) {
        file.forget_former_leader(to.host, to.port);
        file.note_handover({.leads = false, .host = to.host, .port = to.port});
        // A start with the earlier options asks the server in these options first.
        if (is_named) file.forget_redirection();
        else file.note_redirection({.from = {how.follow.host, how.follow.port}, .to = {to.host, to.port}});
    });
    // An earlier follower has stopped when this server was promoted.
    make_follower(is_named ? to : how.follow);
    log_->others().show_link([this] { return follower_->look(); });
    log_->yield_to(to_string(endpoint{to.host, to.port}));
    follower_->start(address());
    herald_->start(address());
}

/// Handles an operator's statement that the follower that was told to lead does not lead.
std::string service::body::lead_in_doubt() {
    try {
        add_former_leader(handover_->lead_anyway());
        const std::scoped_lock lock{promotion_};
        how.notice(severity::info, "this server leads, in term " + std::to_string(log_->others().look().now.term));
        herald_->stop();
        herald_->start(address());
        return {};
    } catch (const std::exception& e) {
        return std::string{"this server cannot lead: "} + e.what();
    }
}

/// Handles an operator's decision that this server leads although a follower has calls that it lacks, or has not come.
std::string service::body::decide() {
    const std::scoped_lock both{handing_over_, promotion_};
    if (!serves_ || drained_) return "the server does not serve";
    if (handover_->is_under_way()) return "this server hands its lead over";
    try {
        log_->lead_again();
        how.notice(severity::info, "this server leads, in term " + std::to_string(log_->others().look().now.term));
        return {};
    } catch (const std::exception& e) {
        return std::string{"this server cannot lead: "} + e.what();
    }
}

std::string service::body::promote(std::uint64_t order) {
    if (const std::scoped_lock lock{handing_over_}; order == 0 && handover_ && handover_->is_in_doubt())
        return lead_in_doubt();
    if (order == 0 && log_ && log_->others().is_undecided()) return decide();
    const std::scoped_lock lock{promotion_};
    if (!serves_ || drained_) return "the server does not serve";
    if (void_orders_.contains(order)) return "the leader has taken that back";
    if (!follower_) return "this server follows nobody";
    if (log_->others().look().leads) return {};  // promoted already
    if (const std::string why = follower_->stop(); !why.empty())
        return "this server cannot lead, because its data are not what its log says: " + why;
    try {
        // Added first: if a crash prevents the message, the next start sends it.
        const leader_settings& former = follower_->leader();
        add_former_leader(former);
        // Written together with the branch, so that a start finds both or neither.
        std::optional<journal::handed_over> latest;
        if (order != 0) latest = {.leads = true, .host = former.host, .port = former.port};
        log_->begin(latest);
        take_snapshots();
        how.notice(severity::info, "this server leads, in term " + std::to_string(log_->others().look().now.term));
        herald_->stop();
        herald_->start(address());
        return {};
    } catch (const std::exception& e) {
        if (log_->others().look().leads) {
            return std::string{"this server leads, but takes no snapshots, or does not tell its former leader: "} +
                   e.what() + ". Start it again, without --follow";
        }
        follower_->go_on();
        return std::string{"this server cannot lead: "} + e.what();
    }
}

void service::body::start() {
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
    shown_ = std::make_unique<timeline>(workers_);
    executor_ = make_executor(chosen, how, workers_, procedures, *shown_, &deputies_);
    if (how.report_crashes) witness_.emplace(*executor_);
    own_calls_ = std::make_unique<program_calls>(how, *executor_, procedures.all(), slow_, log_.get());
    if (cluster::call_carrier* const by = how.cluster == nullptr ? nullptr : how.cluster->calls(); by && how.forward)
        elsewhere_.emplace(*by, procedures, *executor_, *own_calls_);
    door_ = std::make_unique<doorkeeper>(accounts_);
    commands_ = std::make_unique<commands>(
        procedures, how.password, accounts_, *shown_, clients_, answers_, slow_,
        replicas{.log = log_.get(),
                 .promote = [this] { return promote(); },
                 .hand_over = [this](std::string to,
                                     std::chrono::milliseconds longest) { return hand_over(std::move(to), longest); },
                 .answer_order = [this](std::uint64_t number, bool is_void) { return answer_order(number, is_void); },
                 .password = how.replication_password,
                 .open_to_all = how.unprotected},
        how.max_request, [this] { return to_text(look()); });
    shared_.reset(new common{.how = how,
                             .known = *commands_,
                             .runs = *executor_,
                             .workers = workers_,
                             .entrances = {},
                             .directory = clients_,
                             .answers = answers_,
                             .door = *door_,
                             .slow = slow_,
                             .log = log_.get(),
                             .elsewhere = elsewhere_ ? &*elsewhere_ : nullptr});
    started_ = true;
    own_calls_->start();
    if (!accounts_.empty()) door_->start();
    start_time_ = std::chrono::steady_clock::now();
    listen();
    for (unsigned i = 0; i < how.io_threads && !shared_->entrances.empty(); ++i)
        io_threads_.push_back(std::make_unique<io_thread>(*shared_, procedures.all().size()));
    for (const auto& r : io_threads_) r->start();
    open_deputies();
    // A client may ask for a promotion already, and a leader may order one.
    const std::scoped_lock both{handing_over_, promotion_};
    if (log_) {
        herald_ = std::make_unique<herald>(how, *log_);
        herald_->start(address());
        handover_ =
            std::make_unique<handover>(how, *log_,
                                       handover::host{.is_idle = [this] { return is_idle(); },
                                                      .follow = [this](const leader_settings& to) { step_down(to); },
                                                      .tell = how.notice});
    }
    if (follower_) follower_->start(address());
    if (elsewhere_) elsewhere_->start();
    serves_ = true;
    stage_.store(stage::serving, std::memory_order_release);
}

/// Allows idle workers to take the I/O threads' place, except in three cases. A TLS handshake is a long computation,
/// and so may be finding the node of a call in a cluster. With `realtime_from`, urgent calls should run before other
/// programs. But a worker in an I/O thread's place has no real-time priority, so they would wait for those programs.
void service::body::open_deputies() {
    if (tls_ || elsewhere_ || how.preemption.realtime_from) return;
    std::vector<io_thread*> threads;
    for (const auto& r : io_threads_) threads.push_back(r.get());
    deputies_.open(std::move(threads));
    for (const auto& r : io_threads_) r->allow_deputies();
}

/// Opens the pages before the log is read, which may take long. So an operator can see that the server is loading.
void service::body::open_pages() {
    if (!how.metrics_port) return;
    pages_ = std::make_unique<exposition::web_server>(
        how.metrics_host, *how.metrics_port,
        exposition::web_server::pages{{"/metrics", [this] { return show_metrics(); }},
                                      {"/healthz", [this] { return page_of(liveness_now()); }},
                                      {"/readyz", [this] { return page_of(readiness_now()); }}});
    metrics_port = pages_->port();
}

exposition::page service::body::show_metrics() const {
    if (stage_.load(std::memory_order_acquire) == stage::loading) return page_of(readiness_now());
    return exposition::page_of(families_of(look()));
}

readiness service::body::readiness_now() const {
    readiness now{.at = stage_.load(std::memory_order_acquire)};
    if (now.at == stage::loading) return now;
    now.queue_full = executor_->current_load().full();
    now.holds_too_much = shared_->bytes.used_up();
    now.clients_full = shared_->clients.load(std::memory_order_relaxed) >= how.max_clients;
    if (!log_) return now;
    now.log_trouble = log_->trouble();
    now.log_behind = log_->full();
    if (log_->others().is_undecided()) now.undecided = log_->others().why_no_writes();
    return now;
}

liveness service::body::liveness_now() {
    // As long as the default timeout of probes that restart programs.
    constexpr std::chrono::milliseconds patience{1000}, pause{1};
    liveness now{.at = stage_.load(std::memory_order_acquire)};
    if (now.at == stage::loading) return now;
    now.workers = workers_;
    now.io_threads = io_threads_.size();
    std::vector<std::uint64_t> asked;
    for (const auto& r : io_threads_) asked.push_back(r->ask_for_sign());
    const instant until = std::chrono::steady_clock::now() + patience;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        bool answers = false;
        while (!(answers = io_threads_[i]->has_gone_round(asked[i])) && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(pause);
        if (!answers) now.silent.push_back(i);
    }
    const instant looked = std::chrono::steady_clock::now();
    for (const auto& r : io_threads_) r->kept().add_to(now.kept, looked);
    own_calls_->kept().add_to(now.kept, looked);
    return now;
}

void service::body::drain() {
    if (!started_ || drained_.exchange(true)) return;
    if (serves_) stage_.store(stage::ending, std::memory_order_release);
    drain_step_ = drain_step::calls;
    // Waits for a promotion that has begun. The next one sees drained_.
    { const std::scoped_lock lock{promotion_}; }
    bool is_in_doubt = false;
    if (const std::scoped_lock lock{handing_over_}; handover_) {
        handover_->stop();
        is_in_doubt = handover_->is_in_doubt();
    }
    stop_listening();
    own_calls_->begin_drain();
    if (log_) log_->hurry();
    const bool leads = log_ && serves_ && log_->others().takes_writes();
    shared_->awaits_followers = leads;
    const instant began = std::chrono::steady_clock::now();
    // Drains I/O threads first: they end when everything that they submitted has come back and is answered.
    for (const auto& r : io_threads_) r->begin_drain();
    door_->begin_drain();
    executor_->end_waits();
    // Leaves a part of the time for the steps below.
    if (leads)
        await_followers(how.shutdown_timeout.count() == 0 ? instant::max() : began + how.shutdown_timeout * 9 / 10);
    shared_->awaits_followers = false;
    if (log_) log_->others().begin_drain();
    for (const auto& r : io_threads_) r->join();
    door_.reset();
    executor_->drain();
    if (leads) tell_what_followers_lack();
    if (elsewhere_) elsewhere_->stop();
    drain_step_ = drain_step::snapshot;
    if (snapshots_) {
        snapshots_->stop();
        // The other server may have logged calls behind the end of this log. A snapshot would take their position.
        if (!is_in_doubt) snapshots_->take_last();
        snapshots_.reset();
    }
    if (follower_) {
        const bool is_whole = follower_->stop().empty();
        if (is_whole && !log_->others().look().leads) follower_->keep_snapshot();
    }
    drain_step_ = drain_step::log;
    herald_.reset();
    if (log_) log_->end();  // the calls that it holds belong to own_calls_
    own_calls_->stop();
    guards_.clear();
    tcp_.close();
    local_.socket.close();
    inherited_.clear();
    pages_.reset();  // they use objects that end with this one
    if (!serves_) return;
    drain_step_ = drain_step::at_end;
    std::exception_ptr failure;
    for (const auto& f : procedures.closing()) {
        try {
            f();
        } catch (...) {
            if (failure == nullptr) failure = std::current_exception();
        }
    }
    if (failure != nullptr) std::rethrow_exception(failure);
}

/// Waits until the followers have the whole log. In a planned switch-over, the leader ends and a follower is promoted,
/// so that follower must have every answered call. First all calls end, so the log no longer grows. Then connected
/// followers ask until they have all of the log. A follower states what it has on its disk when it asks for more
/// (replication.hpp).
void service::body::await_followers(instant until) {
    constexpr std::chrono::milliseconds pause{1};
    const auto goes_on = [&] { return shared_->following.load() != 0 && std::chrono::steady_clock::now() < until; };
    const auto are_over = [&] {
        return own_calls_->are_over() && std::ranges::all_of(io_threads_, &io_thread::calls_are_over);
    };
    while (!are_over() && goes_on()) std::this_thread::sleep_for(pause);
    if (!are_over()) return;  // the time is over, or no follower is connected
    const std::uint64_t end = log_->drawn();
    const auto lack = [&] {
        const auto all = log_->others().look().followers;
        return std::ranges::count_if(all, [&](const auto& f) { return f.position < end; });
    };
    drain_step_ = drain_step::followers;
    for (bool told = false; goes_on() && !log_->in_trouble(); std::this_thread::sleep_for(pause)) {
        const auto behind = lack();
        if (behind == 0) break;
        if (!std::exchange(told, true))
            how.notice(severity::info, "the end waits for followers that lack calls: " + std::to_string(behind));
    }
    drain_step_ = drain_step::calls;
}

void service::body::tell_what_followers_lack() const {
    const std::uint64_t end = log_->drawn();
    for (const auto& f : log_->others().look().followers) {
        if (f.position >= end) continue;
        how.notice(severity::warning, "the follower at " + f.address + " lacks the last " +
                                          std::to_string(end - f.position) + " calls; it has last asked for more " +
                                          std::to_string(f.silent.count()) +
                                          " ms ago. If it is promoted, they are lost");
    }
}

drain_obstacles service::body::awaited_by_drain() {
    drain_obstacles found;
    switch (drain_step_.load()) {
        case drain_step::none:
            found.lines.emplace_back(serves_ ? "the end has not begun"
                                             : "the server has not come to the end of its start: it reads its log, or "
                                               "waits for others");
            return found;
        case drain_step::calls:
            for (const auto& r : io_threads_) r->awaited().add_to(found.lines);
            own_calls_->add_unfinished(found.lines);
            if (found.lines.empty()) found.lines.emplace_back("clients that have not closed their connections");
            break;
        case drain_step::followers: found.lines.emplace_back("followers that lack calls"); break;
        case drain_step::snapshot:
            found.lines.emplace_back("the snapshot of the end is taken");
            found.saves_data = true;
            return found;
        case drain_step::log: found.lines.emplace_back("the log is being written"); return found;
        case drain_step::at_end:
            found.lines.emplace_back("a function that procedures have registered by at_end");
            break;
    }
    if (!log_) return found;
    // Answered calls may still be in memory, unless each answer waits for the disk.
    constexpr std::chrono::milliseconds patience{500}, pause{1};
    const instant until = std::chrono::steady_clock::now() + patience;
    const std::uint64_t drawn = log_->drawn();
    while (log_->durable() < drawn && !log_->in_trouble() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(pause);
    if (log_->durable() < drawn)
        found.lines.push_back("the log cannot be written: " + (log_->in_trouble() ? log_->trouble() : "it hangs"));
    return found;
}

bool service::body::renew_certificates() {
    if (!serves_ || !tls_) return false;
    tls_->renew();
    return true;
}

bool service::body::responds() noexcept {
    bool all = true;
    for (const auto& r : io_threads_) all = r->responds() && all;  // asks each thread
    return all;
}

snapshot service::body::look() const {
    snapshot s;
    if (!started_) return s;
    s.up = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_time_);
    s.workers = workers_;
    s.executor = executor_->name();
    s.busy = executor_->current_load();
    s.resident_bytes = resident_bytes();
    s.held_bytes = shared_->bytes.held();
    s.held_by_clients = clients_.held();
    s.held_by_calls = shared_->calls.held();
    s.latest_eviction = shared_->evictions.latest();
    for (const entry& e : procedures.all()) s.procedures.push_back({e.what.name, e.what.options.priority, {}, {}});
    for (const auto& r : io_threads_) add(s, r->counted());
    add(s, own_calls_->counted());
    add_transactions(s);
    if (how.cluster != nullptr) s.cluster = how.cluster->look();
    if (elsewhere_) s.elsewhere = elsewhere_->look();
    if (log_) {
        s.log = log_->look();
        s.others = log_->others().look();
    }
    return s;
}

void service::body::call(std::string_view name, std::vector<std::string> arguments, const call_options& options,
                         std::function<void(std::string_view)> then) {
    std::string refused;
    reply to{refused, protocol::resp3};
    const entry* const which = procedures.find(name);
    if (which == nullptr) {
        to.error("NOPROC", "there is no procedure '" + std::string{name} + "'");
    } else if (log_ && !which->what.options.read_only && !log_->others().takes_writes()) {
        to.error("READONLY", which->what.name + ": " + log_->others().why_no_writes());
    } else if (takes(*which, arguments.size(), to)) {
        invocation what{.which = which, .how = {}, .spoken = protocol::resp3};
        try {
            plan(what, options.priority, options.deadline, std::chrono::steady_clock::now());
            return own_calls_->call(what, std::move(arguments),
                                    [taker = std::move(then)](std::string_view answer, ending) { taker(answer); });
        } catch (const bad_argument& e) {
            to.error(code_of(ending::argument), e.what());
        }
    }
    then(refused);
}

service::service(settings how) : body_{std::make_unique<body>(std::move(how))} {}

service::~service() {
    try {
        body_->drain();
    } catch (...) {
        // A caller that needs the error calls drain().
    }
}

registry& service::procedures() noexcept { return body_->procedures; }
void service::load(const std::string& shared_object) { body_->procedures.load(shared_object); }
void service::set(std::string name, std::string value) { body_->procedures.set(std::move(name), std::move(value)); }
std::vector<std::string> service::unused_settings() const { return body_->procedures.unused_settings(); }
void service::check() { body_->check(); }
std::string service::promote() { return body_->promote(); }
std::string service::hand_over(const std::string& to, std::chrono::milliseconds longest) {
    try {
        const auto outcome = body_->hand_over(to, longest);
        outcome->is_over.wait(false);
        return outcome->why_not;
    } catch (const std::runtime_error& e) {
        return e.what();
    }
}
drain_obstacles service::awaited_by_drain() { return body_->awaited_by_drain(); }
bool service::renew_certificates() { return body_->renew_certificates(); }
bool service::responds() noexcept { return body_->responds(); }
void service::start() { body_->start(); }
void service::drain() { body_->drain(); }
std::uint16_t service::port() const noexcept { return body_->port; }
std::uint16_t service::metrics_port() const noexcept { return body_->metrics_port; }
std::string service::info() const { return to_text(body_->look()); }
void service::call_raw(std::string_view name, std::vector<std::string> arguments, const call_options& how,
                       std::function<void(std::string_view)> then) {
    body_->call(name, std::move(arguments), how, std::move(then));
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
