#include "server/replication/follower.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/sigpipe_guard.hpp"
#include "server/calls/recovery.hpp"
#include "server/replication/herald.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_question{500};  // time that the leader may delay an answer while there is nothing new
constexpr milliseconds between_attempts{200};
constexpr milliseconds between_refusals{2'000};
constexpr std::chrono::seconds for_the_first_copy{10};
constexpr std::chrono::seconds for_a_busy_leader{60};  // the same, for a leader that answers
constexpr std::size_t bytes_of_piece = std::size_t{1} << 20;
constexpr unsigned most_hops = 3;  // redirections from one following server to another
constexpr int copies = 5;          // attempts, because the leader may replace its snapshot meanwhile

/// The calls in the log cannot be run. Only a start after a repair can help.
class cannot_run : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The other server has an earlier term than this one.
class stale_leader : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns true if the leader may answer differently later: it has too many clients, too much work, or no room on its
/// disk.
bool passes(const refused_by_leader& e) {
    return e.code() == "MAXCLIENTS" || e.code() == "BUSY" || e.code() == "NOLOG";
}

/// Returns true if the leader hands over its lead to this server.
bool is_order(const refused_by_leader& e) { return e.code() == "LEAD"; }

std::string address_of(const leader_settings& l) { return to_string(endpoint{l.host, l.port}); }

bool is_same(const leader_settings& a, const leader_settings& b) { return a.host == b.host && a.port == b.port; }

journal::redirection::address place_of(const leader_settings& l) { return {.host = l.host, .port = l.port}; }

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::uint64_t number_in(const std::string& order) {
    std::uint64_t number = 0;
    std::from_chars(order.data(), order.data() + order.size(), number);
    return number;
}

std::string what_to_do(const refused_by_leader& e) {
    if (e.code() == "COPY")
        return std::string{e.what()} + ". Start this server again: it then copies the leader's snapshot";
    if (e.code() == "ANOTHER") {
        return std::string{e.what()} + ", " + std::to_string(copies) +
               " times. Start this server when less is written, or the leader with a greater --snapshot-after";
    }
    if (e.code() == "ELSEWHERE")
        return std::string{e.what()} +
               ", and so on: these servers follow each other, and none leads. Promote one of them";
    if (e.code() == "STALE")
        return std::string{e.what()} + ". If this one has been promoted, start it without --follow";
    return e.what();
}

}  // namespace

/// The position of the data: the end of the log between two pieces.
class follower::position final : public snapshot_position {
public:
    explicit position(follower& of) : of_{of} {}
    void hold() override {
        of_.piece_.lock();
        of_.log_.with_file([&](journal::store& file) { end_ = file.end(); });
    }
    void let_go() noexcept override { of_.piece_.unlock(); }
    std::optional<std::uint64_t> now() noexcept override { return end_; }
    std::string keep(std::uint64_t position) override { return of_.log_.keep_at_end(position); }

private:
    follower& of_;
    std::uint64_t end_ = 1;
};

follower::follower(const settings& how, leader_settings leader, journal::journal& log, const catalog& procedures,
                   std::function<void(const journal::kept_answer&)> keep, std::function<void(std::uint64_t)> take_order)
    : how_{how},
      named_{std::move(leader)},
      found_{named_},
      log_{log},
      procedures_{procedures},
      keep_{std::move(keep)},
      take_order_{std::move(take_order)},
      id_{id_in(log)} {
    log.with_file([&](journal::store& file) {
        const std::optional<journal::redirection> latest = file.latest_redirection();
        if (!latest) return;
        if (latest->from != place_of(named_)) return file.forget_redirection();  // the options are newer
        found_.host = latest->to.host;
        found_.port = latest->to.port;
    });
    asked_ = found_;
    figures_.leader = address_of(found_);
}

std::uint64_t follower::id_in(journal::journal& log) {
    std::uint64_t id = 0;
    log.with_file([&](journal::store& file) { id = file.follower_id(); });
    return id;
}

follower::~follower() { static_cast<void>(stop()); }

journal::pull follower::state() {
    journal::pull p{.follower = id_, .address = address_, .most = bytes_of_piece};
    log_.with_file([&](journal::store& file) {
        p.end = file.end();
        p.own = file.last_branch();
    });
    p.upto = std::max(upto_, p.end);
    p.upto_branch = upto_branch_;
    return p;
}

void follower::greet(link& leader) {
    const std::uint64_t term = latest_term();
    // FOLLOW PULL contains only the term of the last call.
    if (term > state().own.term) static_cast<void>(tell_term(leader, term, address_));
}

journal::piece follower::ask(link& leader, const journal::pull& from, milliseconds longest) {
    const auto text = [](std::uint64_t n) { return std::to_string(n); };
    const std::string answer = leader.ask({"FOLLOW", "PULL", text(journal::stream_version), text(from.follower),
                                           from.address.empty() ? "-" : from.address, text(from.own.term),
                                           text(from.own.id), text(from.end), text(from.upto), text(from.upto_branch),
                                           text(from.most), text(static_cast<std::uint64_t>(longest.count()))});
    journal::piece p = journal::decode_piece(answer);
    if (p.now.term < from.own.term) {
        throw stale_leader{"the server " + address_of(asked_) + " is of term " + text(p.now.term) +
                           ", and this one of " + text(from.own.term) +
                           ": this one has been promoted since; start it without --follow"};
    }
    return p;
}

// A refusal other than DIVERGED means that the leader does not know the question. Then the first refusal stands.
void follower::show_branches(link& leader, const refused_by_leader& refusal) {
    if (refusal.code() != "DIVERGED") return;
    std::uint64_t end = 1;
    std::string all;
    log_.with_file([&](journal::store& file) {
        end = file.end();
        std::vector<journal::branch> list = file.branches();
        std::erase_if(list, [&](const journal::branch& b) { return b.first >= end; });
        all = journal::text_of(list);
    });
    try {
        static_cast<void>(leader.ask({"FOLLOW", "HAS", std::to_string(journal::stream_version),
                                      address_.empty() ? "-" : address_, std::to_string(end), all}));
    } catch (const refused_by_leader& e) {
        if (e.code() == refusal.code()) throw;
    }
}

void follower::catch_up() {
    const base::sigpipe_guard quiet;  // this thread belongs to the program, and OpenSSL does not support MSG_NOSIGNAL
    const auto began = clock::now();
    bool may_go_back = !is_same(found_, named_);
    // A server that this one found earlier may no longer lead. The server in the options knows better.
    const auto goes_back = [&] {
        if (!may_go_back || hops_ != 0) return false;
        may_go_back = false;
        go_back();
        return true;
    };
    for (std::string told;;) {
        const journal::pull own = state();
        std::string trouble;
        bool answers = false;
        try {
            link leader{asked_, how_.tls, stopping_, how_.replication_password};
            greet(leader);
            try {
                // Takes the leader's term, too: a promotion must begin a later term, even before the first call has
                // arrived.
                const journal::piece first = ask(leader, own, milliseconds{0});
                log_.with_file([&](journal::store& file) {
                    file.append({}, first.branches, first.groups.empty() ? first.upto : own.end, first.now.term, true);
                });
            } catch (const refused_by_leader& e) {
                show_branches(leader, e);
                if (e.code() != "COPY") throw;
                copy(leader);
            }
            return settle();
        } catch (const refused_by_leader& e) {
            if (is_order(e)) return settle();  // it has everything, and gets the order again once it serves
            if (goes_elsewhere(e) || (!passes(e) && goes_back())) continue;
            if (!passes(e)) throw std::runtime_error{what_to_do(e)};
            trouble = e.what();
            answers = true;
        } catch (const stale_leader&) {
            if (goes_back()) continue;
            throw;
        } catch (const journal::store_error&) {
            throw;
        } catch (const std::runtime_error& e) {
            trouble = e.what();
        }
        if (own.end != 1) return log_.tell(true, trouble + "; it is asked again");
        if (clock::now() - began > (answers ? for_a_busy_leader : for_the_first_copy)) {
            throw std::runtime_error{trouble + ", and the log is empty: " +
                                     (answers ? "start this server again later" : "start the leader first")};
        }
        if (answers && told != trouble) log_.tell(true, trouble + "; it is asked again");
        told = trouble;
        if (!answers) go_back();
        std::this_thread::sleep_for(between_attempts);
    }
}

void follower::copy(link& leader) {
    const std::string version = std::to_string(journal::stream_version);
    for (int attempt = 1;; ++attempt) {
        try {
            const journal::copied c = journal::decode_copy(leader.ask({"FOLLOW", "COPY", version}));
            const std::string position = std::to_string(c.position);
            log_.with_file([&](journal::store& file) {
                file.replace_by(c, [&](std::uint64_t n) {
                    const std::string sealed = leader.ask({"FOLLOW", "PART", version, position, std::to_string(n)});
                    return std::string{journal::unseal(sealed)};
                });
            });
            return log_.tell(false, "the leader's snapshot was copied: " + std::to_string(c.parts) + " pieces");
        } catch (const refused_by_leader& e) {
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
    go_on();
}

void follower::go_on() {
    snapshots_ = std::make_unique<snapshots>(log_, procedures_, std::make_unique<position>(*this),
                                             [this](const std::string& line) { log_.tell(true, line); });
    start_thread([this] { work(); });
}

std::string follower::stop() {
    {
        const std::scoped_lock lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (snapshots_) snapshots_->stop();
    const std::scoped_lock lock{mutex_};
    figures_.up = false;
    return failed_;
}

bool follower::pause(milliseconds longest) {
    std::unique_lock lock{mutex_};
    return !changed_.wait_for(lock, longest, [this] { return stopping_.load(); });
}

void follower::note(bool up, const std::string& trouble) {
    bool is_new = false;
    {
        const std::scoped_lock lock{mutex_};
        if (stopping_) return;  // the failure is a consequence of stopping
        if (up) {
            is_new = !figures_.up;
            told_.clear();
        } else {
            std::string& told = told_[address_of(asked_)];
            is_new = told != trouble;
            told = trouble;
        }
        figures_.up = up;
        figures_.trouble = trouble;
        if (up) heard_ = clock::now();
    }
    if (is_new) log_.tell(!up, up ? "this server follows " + address_of(asked_) : trouble);
}

bool follower::goes_elsewhere(const refused_by_leader& refusal) {
    if (refusal.code() != "ELSEWHERE" || hops_ == most_hops) return false;
    const std::string& said = refusal.said();
    std::optional<endpoint> there = parse_endpoint(said.substr(0, said.find(' ')));
    if (!there) return false;
    // An address that the other server reaches over loopback is on that server's machine.
    if (is_loopback(there->host) && !is_loopback(asked_.host)) there->host = asked_.host;
    asked_.host = there->host;
    asked_.port = there->port;
    ++hops_;
    return true;
}

void follower::go_back() {
    hops_ = 0;
    asked_ = is_same(asked_, named_) ? found_ : named_;
}

void follower::settle() {
    hops_ = 0;
    if (is_same(asked_, found_)) return;
    log_.with_file([&](journal::store& file) {
        if (is_same(asked_, named_)) file.forget_redirection();
        else file.note_redirection({.from = place_of(named_), .to = place_of(asked_)});
    });
    found_ = asked_;
    const std::string address = address_of(found_);
    log_.others().follow(address);
    {
        const std::scoped_lock lock{mutex_};
        figures_.leader = address;
    }
    log_.tell(false, "the leader is at " + address + " now");
}

void follower::work() {
    for (bool goes_on = true; goes_on;) {
        milliseconds rest = between_attempts;
        try {
            link leader{asked_, how_.tls, stopping_, how_.replication_password};
            greet(leader);
            while (!stopping_) {
                const journal::pull own = state();
                journal::piece p;
                try {
                    p = ask(leader, own, longest_question);
                } catch (const refused_by_leader& e) {
                    if (is_order(e)) settle();
                    show_branches(leader, e);
                    throw;
                }
                settle();
                note(true, {});
                take(p, own.end);
            }
        } catch (const cannot_run& e) {
            note(false, std::string{e.what()} + "; nothing more is taken from the leader");
            const std::scoped_lock lock{mutex_};
            failed_ = e.what();
            return;
        } catch (const refused_by_leader& e) {
            if (is_order(e)) {
                // The leader repeats the order until it knows the outcome, so a failure here loses nothing.
                take_order_(number_in(e.said()));
                goes_on = pause(rest);
                continue;
            }
            if (goes_elsewhere(e)) continue;
            if (!passes(e)) rest = between_refusals;
            note(false, what_to_do(e));
            go_back();
        } catch (const std::exception& e) {
            note(false, e.what());
            go_back();
        }
        goes_on = pause(rest);
    }
}

void follower::run(const journal::piece& p) {
    try {
        replay again{procedures_, how_.log.replay_limit};
        for (const journal::group& g : p.groups) {
            again.run(g.records, 0);
            for (const journal::kept_answer& a : g.answers) keep_(a);
        }
    } catch (const std::exception& e) {
        throw cannot_run{e.what()};
    }
}

// Nothing may fail between the append and the run, because the leader does not send an appended piece again.
void follower::take(const journal::piece& p, std::uint64_t end) {
    {
        const std::scoped_lock whole{piece_};
        while (!log_.append(p)) {
            if (log_.broken()) throw cannot_run{"the log of this server cannot be written: " + log_.trouble()};
            if (!pause(between_attempts)) return;  // the log contains nothing of the piece
        }
        upto_ = p.upto;
        upto_branch_ = p.now.id;
        {
            const std::scoped_lock lock{mutex_};
            figures_.behind_bytes = p.behind;
            for (const journal::group& g : p.groups) *figures_.behind_bytes += g.records.size();
        }
        if (!p.groups.empty()) {
            end = p.groups.back().last + 1;
            run(p);
        }
    }
    {
        const std::scoped_lock lock{mutex_};
        figures_.term = p.now.term;
        figures_.position = end;
        figures_.behind_bytes = p.behind;
        heard_ = clock::now();
    }
}

void follower::keep_snapshot() noexcept {
    if (snapshots_) snapshots_->take_last();
}

std::uint64_t follower::latest_term() {
    std::uint64_t term = 0;
    log_.with_file([&](journal::store& file) { term = file.latest_term(); });
    return term;
}

journal::link_figures follower::look() const {
    const std::scoped_lock lock{mutex_};
    journal::link_figures f = figures_;
    if (!f.up) f.behind_bytes.reset();
    if (heard_ != clock::time_point{}) f.silent = std::chrono::duration_cast<milliseconds>(clock::now() - heard_);
    return f;
}

}  // namespace tutti::server
