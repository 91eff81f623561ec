#include "server/replication/follower.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/sigpipe_guard.hpp"
#include "server/calls/recovery.hpp"
#include "server/replication/demotion_notifier.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds fetch_wait{500};  // time that the leader may delay an answer while there is nothing new
constexpr milliseconds between_attempts{200};
constexpr milliseconds between_refusals{2'000};
constexpr std::chrono::seconds for_the_first_copy{10};
constexpr std::chrono::seconds for_a_busy_leader{60};  // maximum wait for a first copy from a leader that answers
constexpr std::size_t bytes_of_chunk = std::size_t{1} << 20;
constexpr unsigned max_hops = 3;  // maximum number of redirections in a row
constexpr int copies = 5;         // attempts, because the leader may replace its snapshot meanwhile

/// The calls in the log cannot be run. Only a restart after a repair of the log can help.
class cannot_run : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The other server has an earlier term than this server.
class stale_leader : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns true if the leader may answer differently later, because it has too many clients, too much work, or a full
/// disk.
bool passes(const leader_refusal_error& e) {
    return e.code() == "MAXCLIENTS" || e.code() == "BUSY" || e.code() == "MISCONF";
}

/// Returns true if the refusal is the leader's order that this server is to lead.
bool is_order(const leader_refusal_error& e) { return e.code() == "LEAD"; }

std::string address_of(const leader_settings& l) { return to_string(endpoint{l.host, l.port}); }

bool is_same(const leader_settings& a, const leader_settings& b) { return a.host == b.host && a.port == b.port; }

journal::redirection::address address_in_log(const leader_settings& l) { return {.host = l.host, .port = l.port}; }

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::uint64_t number_in(const std::string& order) {
    std::uint64_t number = 0;
    std::from_chars(order.data(), order.data() + order.size(), number);
    return number;
}

std::string what_to_do(const leader_refusal_error& e) {
    if (e.code() == "COPY") return std::string{e.what()} + ". Restart this server to copy the leader's snapshot";
    if (e.code() == "ANOTHER") {
        return std::string{e.what()} + ", " + std::to_string(copies) +
               " times. Start this server when the leader writes less, or restart the leader with a greater "
               "--snapshot-after";
    }
    if (e.code() == "ELSEWHERE")
        return std::string{e.what()} +
               ", and so on: these servers follow each other without a leader. Promote one of them";
    if (e.code() == "STALE")
        return std::string{e.what()} + ". If this one has been promoted, start it without --follow";
    return e.what();
}

}  // namespace

/// The position of the data for a snapshot: the end of the log between two chunks.
class follower::position final : public snapshot_position {
public:
    explicit position(follower& of) : of_{of} {}
    void before_pause() override {
        of_.apply_mutex_.lock();
        of_.log_.with_file([&](journal::log_store& file) { end_ = file.end(); });
    }
    void after_pause() noexcept override { of_.apply_mutex_.unlock(); }
    std::optional<std::uint64_t> current() noexcept override { return end_; }
    std::string store(std::uint64_t position) override { return of_.log_.store_snapshot_at_end(position); }

private:
    follower& of_;
    std::uint64_t end_ = 1;
};

follower::follower(const settings& how, leader_settings leader, journal::journal& log, const catalog& procedures,
                   std::function<void(const journal::stored_reply&)> cache_reply,
                   std::function<void(std::uint64_t)> on_order)
    : how_{how},
      configured_{std::move(leader)},
      found_{configured_},
      log_{log},
      procedures_{procedures},
      cache_reply_{std::move(cache_reply)},
      on_order_{std::move(on_order)},
      id_{id_in(log)} {
    log.with_file([&](journal::log_store& file) {
        const std::optional<journal::redirection> latest = file.latest_redirection();
        if (!latest) return;
        if (latest->from != address_in_log(configured_)) return file.forget_redirection();  // the options are newer
        found_.host = latest->to.host;
        found_.port = latest->to.port;
    });
    current_ = found_;
    status_.leader = address_of(found_);
}

std::uint64_t follower::id_in(journal::journal& log) {
    std::uint64_t id = 0;
    log.with_file([&](journal::log_store& file) { id = file.follower_id(); });
    return id;
}

follower::~follower() { static_cast<void>(stop()); }

journal::fetch_request follower::state() {
    journal::fetch_request p{.follower = id_, .address = address_, .max_bytes = bytes_of_chunk};
    log_.with_file([&](journal::log_store& file) {
        p.end = file.end();
        p.own_epoch = file.last_leader_epoch();
    });
    p.upto = std::max(upto_, p.end);
    p.upto_epoch = upto_epoch_;
    return p;
}

void follower::announce_latest_term(leader_connection& leader) {
    const std::uint64_t term = latest_term();
    // FOLLOW PULL contains only the term of the last call, so a later term needs another message.
    if (term > state().own_epoch.term) static_cast<void>(announce_term(leader, term, address_));
}

journal::log_chunk follower::fetch(leader_connection& leader, const journal::fetch_request& from,
                                   milliseconds time_limit) {
    const auto text = [](std::uint64_t n) { return std::to_string(n); };
    const std::string answer =
        leader.execute({"FOLLOW", "PULL", text(journal::stream_version), text(from.follower),
                        from.address.empty() ? "-" : from.address, text(from.own_epoch.term), text(from.own_epoch.id),
                        text(from.end), text(from.upto), text(from.upto_epoch), text(from.max_bytes),
                        text(static_cast<std::uint64_t>(time_limit.count()))});
    journal::log_chunk p = journal::decode_chunk(answer);
    if (p.epoch.term < from.own_epoch.term) {
        throw stale_leader{"the server " + address_of(current_) + " is of term " + text(p.epoch.term) +
                           ", and this one of " + text(from.own_epoch.term) +
                           ": this one has been promoted since; start it without --follow"};
    }
    return p;
}

// If the leader refuses FOLLOW HAS with a code other than DIVERGED, the leader does not know the command. In this case,
// the caller reports the first refusal.
void follower::send_epochs(leader_connection& leader, const leader_refusal_error& refusal) {
    if (refusal.code() != "DIVERGED") return;
    std::uint64_t end = 1;
    std::string all;
    log_.with_file([&](journal::log_store& file) {
        end = file.end();
        std::vector<journal::leader_epoch> list = file.leader_epochs();
        std::erase_if(list, [&](const journal::leader_epoch& b) { return b.first >= end; });
        all = journal::text_of(list);
    });
    try {
        static_cast<void>(leader.execute({"FOLLOW", "HAS", std::to_string(journal::stream_version),
                                          address_.empty() ? "-" : address_, std::to_string(end), all}));
    } catch (const leader_refusal_error& e) {
        if (e.code() == refusal.code()) throw;
    }
}

void follower::catch_up() {
    const base::sigpipe_guard quiet;  // this thread belongs to the program, and OpenSSL does not support MSG_NOSIGNAL
    const auto began = clock::now();
    bool may_go_back = !is_same(found_, configured_);
    // A leader that this server found earlier may no longer lead. The server in the options may know the current
    // leader.
    const auto has_switched_leader = [&] {
        if (!may_go_back || hops_ != 0) return false;
        may_go_back = false;
        switch_leader();
        return true;
    };
    for (std::string reported;;) {
        const journal::fetch_request own = state();
        std::string error;
        bool answers = false;
        try {
            leader_connection leader{current_, how_.tls, stopping_, how_.replication_password};
            announce_latest_term(leader);
            try {
                // Records the leader's term in the log even before the first call has arrived, because a promotion must
                // begin a later term than the leader's.
                const journal::log_chunk first = fetch(leader, own, milliseconds{0});
                log_.with_file([&](journal::log_store& file) {
                    file.append({}, first.epochs, first.groups.empty() ? first.upto : own.end, first.epoch.term, true);
                });
            } catch (const leader_refusal_error& e) {
                send_epochs(leader, e);
                if (e.code() != "COPY") throw;
                copy(leader);
            }
            return confirm_leader();
        } catch (const leader_refusal_error& e) {
            if (is_order(e)) return confirm_leader();  // this server lacks nothing; the order comes again after start()
            if (follow_redirection(e) || (!passes(e) && has_switched_leader())) continue;
            if (!passes(e)) throw std::runtime_error{what_to_do(e)};
            error = e.what();
            answers = true;
        } catch (const stale_leader&) {
            if (has_switched_leader()) continue;
            throw;
        } catch (const journal::log_store_error&) {
            throw;
        } catch (const std::runtime_error& e) {
            error = e.what();
        }
        if (own.end != 1) return log_.log(true, error + "; this server will try again");
        if (clock::now() - began > (answers ? for_a_busy_leader : for_the_first_copy)) {
            throw std::runtime_error{error + ", and the log is empty: " +
                                     (answers ? "start this server again later" : "start the leader first")};
        }
        if (answers && reported != error) log_.log(true, error + "; this server will try again");
        reported = error;
        if (!answers) switch_leader();
        std::this_thread::sleep_for(between_attempts);
    }
}

void follower::copy(leader_connection& leader) {
    const std::string version = std::to_string(journal::stream_version);
    for (int attempt = 1;; ++attempt) {
        try {
            const journal::initial_copy c = journal::decode_copy(leader.execute({"FOLLOW", "COPY", version}));
            const std::string position = std::to_string(c.position);
            log_.with_file([&](journal::log_store& file) {
                file.replace_by(c, [&](std::uint64_t n) {
                    const std::string sealed = leader.execute({"FOLLOW", "PART", version, position, std::to_string(n)});
                    return std::string{journal::unseal(sealed)};
                });
            });
            return log_.log(false, "the leader's snapshot was copied: " + std::to_string(c.parts) + " pieces");
        } catch (const leader_refusal_error& e) {
            if (e.code() != "ANOTHER" || attempt == copies) throw;
        }
    }
}

void follower::start_thread(std::function<void()> what) {
    stopping_ = false;
    thread_ = std::thread{[what = std::move(what)] {
        ::pthread_setname_np(::pthread_self(), "tutti-follow");
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        what();
    }};
}

void follower::start(std::string address) {
    address_ = std::move(address);
    resume();
}

void follower::resume() {
    snapshotter_ = std::make_unique<snapshotter>(log_, procedures_, std::make_unique<position>(*this),
                                                 [this](const std::string& line) { log_.log(true, line); });
    start_thread([this] { work(); });
}

std::string follower::stop() {
    {
        const std::scoped_lock lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (snapshotter_) snapshotter_->stop();
    const std::scoped_lock lock{mutex_};
    status_.is_connected = false;
    return failure_;
}

bool follower::pause(milliseconds time_limit) {
    std::unique_lock lock{mutex_};
    return !changed_.wait_for(lock, time_limit, [this] { return stopping_.load(); });
}

void follower::record_status(bool up, const std::string& error) {
    bool is_new = false;
    {
        const std::scoped_lock lock{mutex_};
        if (stopping_) return;  // the failure is a consequence of stopping
        if (up) {
            is_new = !status_.is_connected;
            reported_.clear();
        } else {
            std::string& reported = reported_[address_of(current_)];
            is_new = reported != error;
            reported = error;
        }
        status_.is_connected = up;
        status_.error = error;
        if (up) answered_at_ = clock::now();
    }
    if (is_new) log_.log(!up, up ? "this server follows " + address_of(current_) : error);
}

bool follower::follow_redirection(const leader_refusal_error& refusal) {
    if (refusal.code() != "ELSEWHERE" || hops_ == max_hops) return false;
    const std::string& said = refusal.message();
    std::optional<endpoint> there = parse_endpoint(said.substr(0, said.find(' ')));
    if (!there) return false;
    // If the other server names a loopback address, the address means that server's own machine.
    if (is_loopback(there->host) && !is_loopback(current_.host)) there->host = current_.host;
    current_.host = there->host;
    current_.port = there->port;
    ++hops_;
    return true;
}

void follower::switch_leader() {
    hops_ = 0;
    current_ = is_same(current_, configured_) ? found_ : configured_;
}

void follower::confirm_leader() {
    hops_ = 0;
    if (is_same(current_, found_)) return;
    log_.with_file([&](journal::log_store& file) {
        if (is_same(current_, configured_)) file.forget_redirection();
        else file.record_redirection({.from = address_in_log(configured_), .to = address_in_log(current_)});
    });
    found_ = current_;
    const std::string address = address_of(found_);
    log_.followers().follow(address);
    {
        const std::scoped_lock lock{mutex_};
        status_.leader = address;
    }
    log_.log(false, "the leader is at " + address + " now");
}

void follower::work() {
    for (bool continues = true; continues;) {
        milliseconds rest = between_attempts;
        try {
            leader_connection leader{current_, how_.tls, stopping_, how_.replication_password};
            announce_latest_term(leader);
            while (!stopping_) {
                const journal::fetch_request own = state();
                journal::log_chunk p;
                try {
                    p = fetch(leader, own, fetch_wait);
                } catch (const leader_refusal_error& e) {
                    if (is_order(e)) confirm_leader();
                    send_epochs(leader, e);
                    throw;
                }
                confirm_leader();
                record_status(true, {});
                apply(p, own.end);
            }
        } catch (const cannot_run& e) {
            record_status(false, std::string{e.what()} + "; this server stopped following the leader");
            const std::scoped_lock lock{mutex_};
            failure_ = e.what();
            return;
        } catch (const leader_refusal_error& e) {
            if (is_order(e)) {
                // The leader repeats the order until it knows the outcome, so a failure of on_order_ loses nothing.
                on_order_(number_in(e.message()));
                continues = pause(rest);
                continue;
            }
            if (follow_redirection(e)) continue;
            if (!passes(e)) rest = between_refusals;
            record_status(false, what_to_do(e));
            switch_leader();
        } catch (const std::exception& e) {
            record_status(false, e.what());
            switch_leader();
        }
        continues = pause(rest);
    }
}

void follower::run(const journal::log_chunk& p) {
    try {
        replay again{procedures_, how_.log.replay_limit};
        for (const journal::group& g : p.groups) {
            again.run(g.records, 0);
            for (const journal::stored_reply& a : g.answers) cache_reply_(a);
        }
    } catch (const std::exception& e) {
        throw cannot_run{e.what()};
    }
}

// No step between appending a chunk and running it may fail, because the leader does not send an appended chunk again.
void follower::apply(const journal::log_chunk& p, std::uint64_t end) {
    {
        const std::scoped_lock whole{apply_mutex_};
        while (!log_.append(p)) {
            if (log_.is_broken()) throw cannot_run{"the log of this server cannot be written: " + log_.error()};
            if (!pause(between_attempts)) return;  // the log contains nothing of the chunk
        }
        upto_ = p.upto;
        upto_epoch_ = p.epoch.id;
        {
            const std::scoped_lock lock{mutex_};
            status_.behind_bytes = p.behind;
            for (const journal::group& g : p.groups) *status_.behind_bytes += g.records.size();
        }
        if (!p.groups.empty()) {
            end = p.groups.back().last + 1;
            run(p);
        }
    }
    {
        const std::scoped_lock lock{mutex_};
        status_.term = p.epoch.term;
        status_.position = end;
        status_.behind_bytes = p.behind;
        answered_at_ = clock::now();
    }
}

void follower::store_snapshot() noexcept {
    if (snapshotter_) snapshotter_->take_final();
}

std::uint64_t follower::latest_term() {
    std::uint64_t term = 0;
    log_.with_file([&](journal::log_store& file) { term = file.latest_term(); });
    return term;
}

journal::leader_connection_status follower::status() const {
    const std::scoped_lock lock{mutex_};
    journal::leader_connection_status f = status_;
    if (!f.is_connected) f.behind_bytes.reset();
    if (answered_at_ != clock::time_point{})
        f.silent = std::chrono::duration_cast<milliseconds>(clock::now() - answered_at_);
    return f;
}

}  // namespace tutti::server
