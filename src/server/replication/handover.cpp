#include "server/replication/handover.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <utility>

#include "server/journal/stream.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds poll_period{2}, ask_pause{100};
constexpr milliseconds for_an_address{1'000};
// The maximum wait for running calls. After this time, calls that have not reserved a position are refused, and have no
// effect.
constexpr milliseconds for_running_calls{100};

/// Thrown if the thread is to stop. This is not logged.
class stopped_error : public std::runtime_error {
public:
    stopped_error() : std::runtime_error{"the server is shutting down"} {}
};

std::string refusal_of_calls(const std::string& to) {
    return "this server hands over leadership to " + to + ": send the call there";
}

/// While this object lives, requests that would write stay unread.
class held_calls {
public:
    explicit held_calls(journal::replication& of) : of_{of} { of_.hold_calls(true); }
    ~held_calls() { of_.hold_calls(false); }
    held_calls(const held_calls&) = delete;
    held_calls& operator=(const held_calls&) = delete;

private:
    journal::replication& of_;
};

}  // namespace

std::shared_ptr<const journal::handover_result> handover::begin(std::string to, milliseconds time_limit) {
    if (result_ && !result_->is_over) throw std::runtime_error{"FAILOVER already in progress."};
    if (in_doubt_)
        throw std::runtime_error{"this server waits for an answer of " + ordered_.host + ", which was ordered to lead"};
    if (thread_.joinable()) thread_.join();
    stopping_ = false;
    result_ = std::make_shared<journal::handover_result>();
    until_ = clock::now() + time_limit;
    thread_ = std::thread{[this, to = std::move(to)] { work(to); }};
    return result_;
}

void handover::stop() noexcept {
    stopping_ = true;
    log_.followers().end_wait();
    if (thread_.joinable()) thread_.join();
}

void handover::finish(std::string why_not) {
    if (result_->is_over) return;
    result_->error = std::move(why_not);
    result_->is_over = true;
    result_->is_over.notify_all();
}

void handover::pause(milliseconds time_limit) {
    if (stopping_) throw stopped_error{};
    std::this_thread::sleep_for(time_limit);
}

void handover::work(const std::string& to) {
    ::pthread_setname_np(::pthread_self(), "tutti-handover");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    try {
        hand_over(to);
        finish({});
    } catch (const std::exception& e) {
        finish(e.what());
    }
}

std::string handover::ask(const leader_settings& whom, std::uint64_t order, std::string_view what) const {
    leader_connection other{whom, how_.tls, stopping_, how_.replication_password};
    return other.execute(
        {"FOLLOW", "ORDER", std::to_string(journal::stream_version), std::to_string(order), std::string{what}});
}

std::string handover::address_of_best() {
    // A starting follower fetches missing entries before it listens, and sends its address soon afterwards. So the
    // address may still be unknown.
    const auto until = std::min(until_, clock::now() + for_an_address);
    for (;; pause(poll_period)) {
        auto all = log_.followers().statistics().followers;
        std::erase_if(all, [](const auto& f) { return !f.connected; });
        if (all.empty()) throw std::runtime_error{"FAILOVER requires connected replicas."};
        std::erase_if(all, [](const auto& f) { return !parse_endpoint(f.address); });
        const auto best = std::ranges::max_element(all, {}, &journal::replication_statistics::follower::position);
        if (best != all.end()) return best->address;
        if (clock::now() >= until)
            throw std::runtime_error{
                "no follower announces its address: name one by HOST:PORT, as this server reaches it"};
    }
}

handover::successor handover::find(const std::string& to) {
    const std::string address = to.empty() ? address_of_best() : to;
    const std::optional<endpoint> there = parse_endpoint(address);
    if (!there) {
        throw std::runtime_error{"'" + address + "' is not an address: name the follower by HOST:PORT"};
    }
    successor h{.at = how_.follow, .address = address};
    h.at.host = there->host;
    h.at.port = there->port;
    std::string said;
    // Before anything changes, checks that this server can reach the other server, may send it requests, and could
    // follow it.
    try {
        said = ask(h.at, 0, "KEEP");
    } catch (const leader_refusal_error& e) {
        throw std::runtime_error{"the server at " + address + " refuses the request: " + e.code() + ' ' + e.message()};
    } catch (const std::runtime_error& e) {
        throw std::runtime_error{"cannot reach the server at " + address + ": " + e.what()};
    }
    const std::string_view follows = "FOLLOWS ";
    if (said.starts_with(follows)) h.id = std::stoull(said.substr(follows.size()));
    const auto all = log_.followers().statistics().followers;
    const bool is_there = std::ranges::any_of(all, [&](const auto& f) { return f.id == h.id && f.connected; });
    if (!is_there) throw std::runtime_error{"the server at " + address + " does not follow this one"};
    return h;
}

void handover::await_position(const successor& h, std::uint64_t position) {
    for (;; pause(poll_period)) {
        const auto all = log_.followers().statistics().followers;
        const auto f = std::ranges::find(all, h.id, &journal::replication_statistics::follower::id);
        const std::uint64_t has = f == all.end() ? 1 : f->position;
        if (has >= position) return;
        if (clock::now() < until_) continue;
        throw std::runtime_error{"the follower at " + h.address + " lacks the last " + std::to_string(position - has) +
                                 " calls at the timeout, so this server continues to lead. Try again when the follower "
                                 "lags less, or with a longer timeout"};
    }
}

void handover::await_idle() {
    const auto until = std::min(until_, clock::now() + for_running_calls);
    while (!host_.is_idle() && clock::now() < until) pause(poll_period);
}

/// Ends the log, and returns its end. On return, everything before the end is on the disk of this server and of the
/// follower.
std::uint64_t handover::end_log(const successor& h) {
    const std::uint64_t end = log_.close();
    for (; log_.durable() < end; pause(poll_period)) {
        log_.request_write();
        if (log_.has_error()) throw std::runtime_error{"the log of this server cannot be written: " + log_.error()};
        if (clock::now() >= until_)
            throw std::runtime_error{
                "the log of this server was not written before the timeout, so this server continues to lead"};
    }
    await_position(h, end);
    return end;
}

void handover::order(const successor& h, std::uint64_t position) {
    std::random_device chance;
    number_ = (std::uint64_t{chance()} << 32) | chance() | 1;
    ordered_ = h.at;
    // The new term is recorded before the follower can receive the order, so that this server does not lead after a
    // restart.
    log_.with_file([](journal::log_store& file) { file.record_announced_term(file.latest_term() + 1); });
    in_doubt_ = is_ordered_ = true;
    log_.followers().set_order({.number = number_, .follower = h.id, .position = position});
}

void handover::report_doubt(const successor& h, const std::string& failed) {
    const std::string why = "the follower at " + h.address + " was ordered to lead and does not answer: " + failed +
                            ". It may lead, so this server refuses calls that write, and keeps asking. If the follower "
                            "is lost for good, make sure that it does not return, and promote this server";
    log_.followers().hold_calls(false);
    log_.followers().set_handover_status("in doubt: " + h.address, why);
    host_.log(severity::error, why);
    finish(why);
}

void handover::resolve(const successor& h) {
    journal::replication& others = log_.followers();
    for (bool is_reported = false;;) {
        const bool is_fenced = others.await_later_term(ask_pause);
        if (stopping_) throw stopped_error{};
        const bool is_late = clock::now() >= until_;
        std::string said, failed;
        try {
            said = ask(h.at, number_, is_late ? "VOID" : "KEEP");
            if (said.starts_with("VOID")) {
                if (!is_fenced) log_.resume_leading();
                in_doubt_ = false;
            }
        } catch (const std::exception& e) {
            failed = e.what();
        }
        if (said.starts_with("LEADS")) break;
        if (!in_doubt_) {
            if (is_fenced) throw std::runtime_error{"a third server leads: " + others.write_refusal_reason()};
            throw std::runtime_error{
                "the follower at " + h.address +
                " did not take over before the timeout, so this server continues to lead, in term " +
                std::to_string(others.statistics().epoch.term)};
        }
        if (is_late && !std::exchange(is_reported, true)) report_doubt(h, failed);
        if (is_fenced) std::this_thread::sleep_for(ask_pause);
    }
    in_doubt_ = false;
    for (bool failed = false;; pause(ask_pause)) {
        try {
            host_.follow(h.at);
            break;
        } catch (const journal::log_store_error& e) {
            if (!std::exchange(failed, true))
                host_.log(severity::error, std::string{e.what()} + "; the server will try again");
        }
    }
    host_.log(severity::info, "this server has handed over leadership to " + h.address + ", and follows that server");
}

void handover::hand_over(const std::string& to) {
    journal::replication& others = log_.followers();
    is_ordered_ = false;
    try {
        const successor h = find(to);
        // Calls continue during this wait, which is the longest wait of a handover.
        others.set_handover_status("waits for " + h.address, {});
        await_position(h, log_.durable());
        const held_calls held{others};
        await_idle();
        others.set_handover_status("hands over to " + h.address, refusal_of_calls(h.address));
        order(h, end_log(h));
        resolve(h);
    } catch (const std::exception& e) {
        if (!is_ordered_) {
            others.set_handover_status({}, {});
            log_.reopen();
        }
        host_.log(severity::warning, std::string{"FAILOVER failed: "} + e.what());
        throw;
    }
}

leader_settings handover::resume_leading() {
    stop();
    if (!in_doubt_) throw std::runtime_error{"the other server has answered"};
    log_.resume_leading();
    in_doubt_ = false;
    return ordered_;
}

}  // namespace tutti::server
