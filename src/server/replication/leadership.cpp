#include "server/replication/leadership.hpp"

#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tutti/server/endpoint.hpp"

namespace tutti::server {

void leadership::choose_role() {
    if (const std::optional<leader_settings> leader = leader_at_start()) {
        make_follower(*leader);
        return follower_->catch_up();
    }
    const std::vector<journal::leader_epoch> all = log_.file().leader_epochs();
    const std::uint64_t own = all.empty() ? 0 : all.back().term, announced = log_.file().announced_term();
    if (announced <= own) return;
    throw std::runtime_error{"the log " + how_.log.file + " is of term " + std::to_string(own) +
                             ", and another server leads in term " + std::to_string(announced) +
                             ": start this server with --follow and the leader's address"};
}

/// Returns the leader that this server follows, if any: the leader in the options, unless a handover is newer than the
/// options.
std::optional<leader_settings> leadership::leader_at_start() {
    std::optional<leader_settings> leader;
    if (!how_.follow.host.empty()) leader = how_.follow;
    journal::log_store& file = log_.file();
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
        leader = how_.follow;
        leader->host = latest->host;
        leader->port = latest->port;
        how_.log_callback(severity::info,
                          "this server has handed over leadership to " + other + ", and follows that server");
    } else if (latest->leads && is_named) {
        const std::vector<journal::leader_epoch> all = file.leader_epochs();
        if (all.empty() || file.announced_term() > all.back().term) return leader;  // another server has led meanwhile
        leader.reset();
        how_.log_callback(severity::info, other + " has handed over leadership to this server");
    } else if (!is_named) {
        file.forget_handover();  // the options are newer
    }
    return leader;
}

void leadership::assume_role() {
    if (!follower_) {
        log_.begin();
        return start_snapshotter();
    }
    log_.followers().set_link_status_source([this] { return follower_->status(); });
    const leader_settings& found = follower_->leader();
    log_.file().forget_former_leader(found.host, found.port);
    log_.follow(to_string(endpoint{found.host, found.port}));
}

void leadership::start(std::string address) {
    // The locks are necessary because a client may already request a promotion, and a leader may order one.
    const std::scoped_lock both{handing_over_, changing_role_};
    address_ = std::move(address);
    demotion_notifier_ = std::make_unique<demotion_notifier>(how_, log_);
    demotion_notifier_->start(address_);
    handover_ =
        std::make_unique<handover>(how_, log_,
                                   handover::host{.is_idle = host_.is_idle,
                                                  .follow = [this](const leader_settings& to) { step_down(to); },
                                                  .log = how_.log_callback});
    if (follower_) follower_->start(address_);
    accepts_changes_ = true;
}

void leadership::make_follower(const leader_settings& of) {
    follower_ = std::make_unique<follower>(how_, of, log_, procedures_, host_.cache_reply,
                                           [this](std::uint64_t order) { handle_order(order); });
}

void leadership::start_snapshotter() {
    snapshotter_ =
        std::make_unique<snapshotter>(log_, procedures_, std::make_unique<leader_position>(log_),
                                      [this](const std::string& line) { how_.log_callback(severity::error, line); });
}

void leadership::add_former_leader(const leader_settings& l) {
    log_.with_file([&](journal::log_store& file) {
        file.add_former_leader({.host = l.host, .port = l.port, .user = l.user, .tls_authority = l.tls_authority});
    });
}

void leadership::report_term() const {
    how_.log_callback(severity::info,
                      "this server leads, in term " + std::to_string(log_.followers().statistics().epoch.term));
}

/// Passes on an order to lead. The calling thread follows the leader, and a promotion ends that thread, so another
/// thread has to execute the promotion.
void leadership::handle_order(std::uint64_t number) {
    if (ordered_.is_in_progress.exchange(true)) return;
    ordered_.what = journal::deferred_request::kind::task;
    ordered_.task = [this, number](std::string&) {
        if (const std::string why_not = promote(number); !why_not.empty())
            how_.log_callback(severity::warning, "the leader hands over leadership to this server: " + why_not);
    };
    log_.followers().submit(ordered_);
}

/// Holds the lock of role changes, so no later promotion follows an order that becomes void here.
std::string leadership::answer_order(std::uint64_t number, bool is_void) {
    const std::scoped_lock lock{changing_role_};
    const journal::replication_statistics now = log_.followers().statistics();
    if (now.leads) return "LEADS " + std::to_string(now.epoch.term);
    if (!follower_) return "STARTS 0";
    if (is_void) cancelled_orders_.insert(number);
    return (is_void ? "VOID " : "FOLLOWS ") + std::to_string(follower_->id());
}

std::shared_ptr<const journal::handover_result> leadership::hand_over(std::string to,
                                                                      std::chrono::milliseconds time_limit) {
    const std::scoped_lock lock{handing_over_};
    if (!accepts_changes_) throw std::runtime_error{"the server is not running"};
    if (!log_.followers().accepts_writes()) throw std::runtime_error{log_.followers().write_refusal_reason()};
    return handover_->begin(std::move(to), time_limit);
}

/// Makes this server follow the other server. Called on the thread that hands over. REQUIRES: the other server leads,
/// and has everything that this server has.
void leadership::step_down(const leader_settings& to) {
    const std::scoped_lock lock{changing_role_};
    if (!accepts_changes_) throw std::runtime_error{"the server is shutting down"};
    demotion_notifier_->stop();
    if (snapshotter_) snapshotter_->stop();
    snapshotter_.reset();
    const bool is_named = how_.follow.host.empty() || (how_.follow.host == to.host && how_.follow.port == to.port);
    log_.with_file([&](journal::log_store& file) {
        file.forget_former_leader(to.host, to.port);
        file.record_handover({.leads = false, .host = to.host, .port = to.port});
        // Without the redirection, the next start with the same options would first try the server in the options, and
        // would forget the handover.
        if (is_named) file.forget_redirection();
        else file.record_redirection({.from = {how_.follow.host, how_.follow.port}, .to = {to.host, to.port}});
    });
    // Replaces an earlier follower_, which stopped when this server was promoted.
    make_follower(is_named ? to : how_.follow);
    log_.followers().set_link_status_source([this] { return follower_->status(); });
    log_.yield_lead_to(to_string(endpoint{to.host, to.port}));
    follower_->start(address_);
    demotion_notifier_->start(address_);
}

/// Handles an operator's decision that the follower that was ordered to lead does not lead. REQUIRES: `handing_over_`
/// is locked, and accepts_changes_ is set.
std::string leadership::lead_in_doubt() {
    try {
        add_former_leader(handover_->resume_leading());
        const std::scoped_lock lock{changing_role_};
        report_term();
        demotion_notifier_->stop();
        demotion_notifier_->start(address_);
        return {};
    } catch (const std::exception& e) {
        return std::string{"this server cannot lead: "} + e.what();
    }
}

/// Handles an operator's decision that this server leads, although a follower has calls that this server lacks, or has
/// not connected.
std::string leadership::decide() {
    const std::scoped_lock both{handing_over_, changing_role_};
    if (!accepts_changes_) return "the server is not running";
    if (handover_->is_in_progress()) return "FAILOVER already in progress.";
    try {
        log_.resume_leading();
        report_term();
        return {};
    } catch (const std::exception& e) {
        return std::string{"this server cannot lead: "} + e.what();
    }
}

std::string leadership::promote(std::uint64_t order) {
    if (const std::scoped_lock lock{handing_over_}; order == operators_order && handover_ && handover_->is_in_doubt())
        return accepts_changes_ ? lead_in_doubt() : "the server is not running";
    if (order == operators_order && log_.followers().is_undecided()) return decide();
    const std::scoped_lock lock{changing_role_};
    if (!accepts_changes_) return "the server is not running";
    if (cancelled_orders_.contains(order)) return "the leader has withdrawn this order";
    if (!follower_) return "this server does not follow another one";
    if (log_.followers().statistics().leads) return {};  // promoted already
    if (const std::string why = follower_->stop(); !why.empty())
        return "this server cannot lead until a restart has read its log again: " + why;
    try {
        // The former leader is recorded first. If a crash prevents the message to the former leader, the next start
        // sends it.
        const leader_settings& former = follower_->leader();
        add_former_leader(former);
        // The handover is written together with the leader epoch, so that a start finds both or neither.
        std::optional<journal::handed_over> latest;
        if (order != operators_order) latest = {.leads = true, .host = former.host, .port = former.port};
        log_.begin(latest);
        start_snapshotter();
        report_term();
        demotion_notifier_->stop();
        demotion_notifier_->start(address_);
        return {};
    } catch (const std::exception& e) {
        if (log_.followers().statistics().leads) {
            return std::string{"this server leads, but takes no snapshots, or does not notify its former leader: "} +
                   e.what() + ". Restart it without --follow";
        }
        follower_->resume();
        return std::string{"this server cannot lead: "} + e.what();
    }
}

void leadership::begin_shutdown() noexcept {
    accepts_changes_ = false;
    { const std::scoped_lock lock{changing_role_}; }
    const std::scoped_lock lock{handing_over_};
    if (handover_) handover_->stop();
}

void leadership::store_final_snapshot() {
    if (snapshotter_) {
        snapshotter_->stop();
        // If a handover is in doubt, the other server may have logged calls after the end of this log. A snapshot would
        // then use the position of one of these calls.
        if (!handover_ || !handover_->is_in_doubt()) snapshotter_->take_final();
        snapshotter_.reset();
    }
    if (follower_) {
        const bool is_whole = follower_->stop().empty();
        if (is_whole && !log_.followers().statistics().leads) follower_->store_snapshot();
    }
}

}  // namespace tutti::server
