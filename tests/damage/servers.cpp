// tutti-damage-servers: a leader and two followers, which are killed and whose files are damaged, and an operator who
// follows docs/server-operation.md and docs/server-followers.md. See README.md.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "cli/port.hpp"
#include "damage/replica_lane.hpp"
#include "server/client.hpp"

namespace tutti::damage {
namespace {

using namespace std::chrono_literals;
using server::client;
namespace fs = std::filesystem;

constexpr std::size_t clients = 4, replicas = 3;
constexpr const char* suffixes[] = {"", "-wal", "-end"};

struct programs {
    std::string tutti, procedures;
};

/// All decisions of a round.
struct plan {
    explicit plan(support::random& dice) : damage{draw{dice}} {
        run = std::chrono::microseconds{dice.below(12'000)};
        const std::size_t who = dice.below(100);
        if (who < 48) killed = {false, false, true};
        else if (who < 70) killed = {true, false, false};
        else if (who < 78) killed = {true, true, false};
        else if (who < 86) killed = {false, true, true};
        else killed = {true, true, true};
        if (dice.one_in(2)) std::swap(killed[1], killed[2]);
        leader_later = dice.one_in(2);
        orderly = dice.one_in(10);
        damage.victim = dice.next();
        promotes = dice.below(10) < 3;
        repairs = dice.one_in(2);
        damage.keeps_earlier = dice.one_in(4);
        snapshot_after = dice.one_in(3) ? 0 : 4'000 + dice.below(40'000);
    }
    damage_plan damage;
    std::chrono::microseconds run{};
    std::array<bool, replicas> killed{};  ///< the leader comes first
    bool leader_later = false, orderly = false, promotes = false, repairs = false;
    std::uint64_t snapshot_after = 0;
};

struct replica_server : replica {
    std::uint16_t port = 0;
    bool torn = false;  ///< its start has reported that an end was cut off

    [[nodiscard]] std::string log() const { return folder + "/log"; }
    [[nodiscard]] std::string socket() const { return folder + "/socket"; }
    [[nodiscard]] std::string output() const { return folder + "/output"; }
    [[nodiscard]] std::string said() const { return bytes_of(output()); }
};

struct caller : told {
    std::uint64_t era = 0;  ///< changes when acknowledged calls are lost, so that IDs stay unique
    bool knows_last_id = false;
};

bool listens(const std::string& path) {
    const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path.copy(where.sun_path, sizeof where.sun_path - 1);
    const bool there = ::connect(s, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
    ::close(s);
    return there;
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string value_of(const std::string& info, const std::string& key) {
    const std::size_t at = info.find("\n" + key + ":");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + key.size() + 2;
    return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
}

class servers final : public replica_lane {
public:
    servers(const programs& with, unsigned number, std::string folder, tally& counts)
        : replica_lane{with.tutti, std::move(folder), {512, 4096, 8192, 8192, 8192 + 24}, counts},
          with_{with},
          number_{number} {
        for (std::size_t i = 0; i < replicas; ++i) {
            all_[i].folder = folder_ + "/" + std::string(1, static_cast<char>('a' + i));
            fs::create_directories(all_[i].folder);
            all_[i].port = static_cast<std::uint16_t>(cli::free_port());
        }
        need_start(leader(), nullptr);
        for (std::size_t i = 1; i < replicas; ++i) need_start(all_[i], &leader());
        // Makes a first call, because a follower with an empty log does not start without its leader.
        client first{leader().socket()};
        if (!note(0, call(first, 0, 1))) throw violated{"a leader does not take its first call"};
        judge();
    }

    void round(support::random& dice) override {
        plan_ = std::make_unique<plan>(dice);
        std::vector<replica*> all, dead;
        for (replica_server& r : all_) {
            all.push_back(&r);
            r.torn = false;
        }
        for (std::size_t i = 0; i < replicas; ++i) {
            if (plan_->killed[i]) dead.push_back(&follower(i));
        }
        begin_round(all, dead);
        lost_allowed_ = 0;
        play();
        harm(plan_->damage, all, dead);
        operate();
        settle();
        judge();
    }

private:
    replica_server& leader() { return all_[leads_]; }
    /// Returns the n-th follower.
    replica_server& follower(std::size_t n) { return all_[(leads_ + n) % replicas]; }

    [[nodiscard]] std::vector<std::string> files_of(const replica& r) const override {
        std::vector<std::string> all;
        for (const char* const s : suffixes) {
            if (fs::exists(r.folder + "/log" + s)) all.push_back(r.folder + "/log" + s);
        }
        return all;
    }
    [[nodiscard]] std::string earlier_of(const replica& r) const override { return r.folder + "/earlier"; }

    // ---- processes

    std::vector<std::string> command(const replica_server& r, const replica_server* follows) const {
        std::vector<std::string> words{with_.tutti,
                                       "serve",
                                       with_.procedures,
                                       "--port",
                                       std::to_string(r.port),
                                       "--unix",
                                       r.socket(),
                                       "--log",
                                       r.log(),
                                       "--fsync",
                                       "always",
                                       "--executor",
                                       "threads",
                                       "--workers",
                                       "1",
                                       "--wait-followers",
                                       "1",
                                       "--wait-followers-timeout",
                                       "300",
                                       "--snapshot-after",
                                       std::to_string(plan_ ? plan_->snapshot_after : 20'000)};
        if (follows != nullptr) {
            words.emplace_back("--follow");
            words.push_back("127.0.0.1:" + std::to_string(follows->port));
        }
        return words;
    }

    /// Starts the server. Returns an empty string once it serves; otherwise returns its last output.
    std::string start(replica_server& r, const replica_server* follows) {
        r.process = child_process{command(r, follows), r.output()};
        counts_.add("1 rounds", "starts", "number");
        const std::string as = r.folder + (follows != nullptr ? " follows " + follows->folder : " leads");
        const auto late = clock::now() + 60s;
        for (;;) {
            if (listens(r.socket())) {
                try {
                    if (client{r.socket()}({"PING"}) == "PONG") break;
                } catch (const std::runtime_error&) {
                    // The server is about to end.
                }
            }
            if (r.process.has_ended()) {
                tell(as + ": " + r.said());
                return r.said().empty() ? "it ended without a word" : r.said();
            }
            if (clock::now() > late) throw violated{"a server does not come to serve: " + r.folder};
            std::this_thread::sleep_for(2ms);
        }
        const std::string said = r.said();
        tell(as + (has(said, "was torn") ? ": " + said : ""));
        if (has(said, "was torn")) {
            r.torn = true;
            counts_.add("3 reports", "a torn end was cut off", r.damaged ? "damaged" : "whole");
        }
        // A log was removed after its server had ended cleanly. The operator reads the message, and stops.
        if (has(said, " was removed; ")) {
            r.process.end(SIGKILL);
            return said;
        }
        return {};
    }
    void need_start(replica_server& r, const replica_server* follows) {
        if (const std::string why = start(r, follows); !why.empty())
            throw violated{r.folder + " does not start: " + why};
    }

    // ---- actions of clients

    [[nodiscard]] std::string id_of(std::size_t who, std::uint64_t n) const {
        return std::to_string(number_) + "-" + std::to_string(who) + "-" + std::to_string(callers_[who].era) + "-" +
               std::to_string(n);
    }
    std::string call(client& c, std::size_t who, std::uint64_t n) const {
        return c({"CALL", "ID", id_of(who, n), "count", std::to_string(who),
                  std::string((n * 37 + who * 101) % 300, static_cast<char>('a' + who))});
    }
    /// Records an answer. Returns false if the client has to continue elsewhere, or later.
    bool note(std::size_t who, const std::string& answer) {
        caller& c = callers_[who];
        if (is_number(answer)) {
            if (answer != std::to_string(c.sure + 1)) {
                throw violated{"client " + std::to_string(who) + " asked for its effect " + std::to_string(c.sure + 1) +
                               " and was answered " + answer + ": one is lost, or there twice"};
            }
            ++c.sure;
            c.in_doubt = false;
            c.knows_last_id = true;
            ++acknowledged_;
            return true;
        }
        for (const char* const known : {"closed", "-UNREPLICATED", "-SHUTDOWN", "-READONLY", "-UNSAVED", "-BUSY"}) {
            if (answer.starts_with(known)) {
                if (*known == '-') counts_.add("4 answers", known + 1, "number");
                return false;
            }
        }
        throw violated{"a call was answered " + answer};
    }
    void call_until_it_ends(client& c, std::size_t who) {
        try {
            while (!stop_.load()) {
                callers_[who].in_doubt = true;
                const std::string answer = call(c, who, callers_[who].sure + 1);
                if (!note(who, answer) && !answer.starts_with("-UNREPLICATED")) return;
            }
        } catch (const std::exception& e) {
            callers_[who].odd = e.what();
        }
    }

    void play() {
        stop_ = false;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < clients; ++i) {
            threads.emplace_back(
                [this, i, c = std::make_unique<client>(leader().socket())] { call_until_it_ends(*c, i); });
        }
        std::this_thread::sleep_for(plan_->run);
        const bool kills_leader = plan_->killed[0];
        for (std::size_t i = 1; i < replicas; ++i) {
            if (plan_->killed[i]) follower(i).process.send(SIGKILL);
        }
        if (kills_leader && plan_->leader_later) std::this_thread::sleep_for(plan_->run / 4);
        // A leader that ends cleanly waits for its followers.
        orderly_ = kills_leader && plan_->orderly && !plan_->killed[1] && !plan_->killed[2];
        int status = 0;
        if (kills_leader) status = leader().process.end(orderly_ ? SIGTERM : SIGKILL);
        stop_ = true;
        for (std::size_t i = 1; i < replicas; ++i) {
            if (plan_->killed[i]) follower(i).process.wait();
        }
        for (std::thread& t : threads) t.join();
        for (caller& c : callers_) {
            if (!c.odd.empty()) throw violated{c.odd};
        }
        if (orderly_ && status != 0) throw violated{"a leader did not end well: " + leader().said()};
    }

    // ---- actions of the operator

    void remove_log(const replica_server& r) const {
        tell("the log of " + r.folder + " is removed");
        for (const char* const s : suffixes) fs::remove(r.log() + s);
    }

    /// Checks a failed start: its cause must be the damage of this round, and its message must help the operator.
    void need_report(replica_server& r, const std::string& why, const std::array<std::string, 2>& before) {
        if (!r.damaged) throw violated{"a server whose files are whole does not start: " + r.folder + ": " + why};
        for (const std::string& part : {r.log(), std::string{"replica"}}) {
            if (!has(why, part) && !has(why, " was removed; "))
                throw violated{"a start ends without saying what is damaged and what to do: " + why};
        }
        const bool is_new = has(why, " was removed; ");
        if (!is_new && (bytes_of(r.log()) != before[0] || bytes_of(r.log() + "-wal") != before[1]))
            throw violated{"a start that was refused has changed files of " + r.folder};
        note_report(r);
    }

    /// Repairs the log. Returns the number of lost calls, or nothing if the repair was refused.
    std::optional<std::uint64_t> repair_log(const replica_server& r) {
        std::string said;
        if (ask({"log", "check", r.log()}, said) == 0)
            throw violated{"`tutti log check` finds a log whole that does not start: " + said};
        if (!repair(r, r.log(), said)) return std::nullopt;
        unsigned long long from = 0, to = 0;
        const std::size_t at = said.find("the calls from ");
        if (at == std::string::npos) return 0;
        std::sscanf(said.c_str() + at, "the calls from %llu to %llu", &from, &to);
        return to - from + 1;
    }

    [[nodiscard]] static std::array<std::string, 2> contents_of(const replica_server& r) {
        return {bytes_of(r.log()), bytes_of(r.log() + "-wal")};
    }

    /// Starts a server that should follow, whatever state its files are in.
    void bring_back(replica_server& r, bool may_diverge) {
        bool may_repair = plan_->repairs;
        for (int attempt = 0; attempt < 4; ++attempt) {
            const auto before = contents_of(r);
            const std::string why = start(r, &leader());
            if (why.empty()) return;
            if (has(why, "DIVERGED")) {
                if (!may_diverge) throw violated{"a follower has more than its leader: " + why};
                counts_.add("3 reports", "a log that has gone another way", r.damaged ? "damaged" : "whole");
                remove_log(r);
                continue;
            }
            if (has(why, "log is empty: start the leader first")) continue;
            need_report(r, why, before);
            if (may_repair && !has(why, " was removed; ") && repair_log(r)) continue;
            may_repair = false;
            remove_log(r);
        }
        throw violated{r.folder + " does not follow: " + r.said()};
    }

    void promote_one_of_the_others() {
        for (std::size_t i = 1; i < replicas; ++i) {
            if (follower(i).process.runs()) continue;
            // A server that has never had a call cannot start without its leader, and follows the next one.
            const std::string why = start(follower(i), &leader());
            if (!why.empty() && !has(why, "log is empty: start the leader first"))
                throw violated{follower(i).folder + " does not start: " + why};
        }
        std::array<std::uint64_t, replicas> positions{};
        for (std::size_t i = 1; i < replicas; ++i) {
            if (follower(i).process.has_ended()) continue;
            // Waits until the follower has lost its connection, and has applied everything that was still on its way.
            std::string info;
            for (;;) {
                info = client{follower(i).socket()}({"INFO"});
                if (value_of(info, "leader_connected") == "0") break;
                std::this_thread::sleep_for(2ms);
            }
            positions[i] = std::stoull(value_of(info, "log_position"));
        }
        tell("positions " + std::to_string(positions[1]) + " and " + std::to_string(positions[2]));
        const std::size_t heir = positions[1] >= positions[2] ? 1 : 2;
        replica_server& next = follower(heir);
        replica_server& other = follower(3 - heir);
        const auto late = clock::now() + 60s;
        for (;;) {
            const std::string said = client{next.socket()}({"REPLICAOF", "NO", "ONE"});
            if (said == "OK") break;
            if (!has(said, "does not serve") || clock::now() > late)
                throw violated{"a follower is not promoted: " + said};
            std::this_thread::sleep_for(2ms);
        }
        counts_.add("1 rounds", "promotions", "number");
        replica_server& old = leader();
        leads_ = static_cast<std::size_t>(&next - all_.data());
        other.process.end(SIGKILL);
        if (const std::string why = start(other, &next); !why.empty()) {
            // The other follower may have copied a repaired leader meanwhile.
            if (!old.reported || !has(why, "DIVERGED")) throw violated{other.folder + " does not start: " + why};
            remove_log(other);
            need_start(other, &next);
        }
        bring_back(old, true);
    }

    /// Returns true if the repaired leader starts. A leader that has lost all calls of its term must not lead after a
    /// start.
    bool leads_again(std::uint64_t lost) {
        const std::string why = start(leader(), nullptr);
        if (has(why, "another server leads in term")) {
            counts_.add("3 reports", "a repaired log that has nothing of its term", "damaged");
            return false;
        }
        if (!why.empty()) throw violated{leader().folder + " does not start after its repair: " + why};
        lost_allowed_ = lost;
        // The leader may know fewer terms than a follower. Then the leader refuses the follower as newer, and stops
        // leading.
        for (std::size_t i = 1; i < replicas; ++i) {
            if (follower(i).process.runs()) continue;
            const std::string refusal = start(follower(i), &leader());
            if (refusal.empty()) continue;
            if (has(refusal, "DIVERGED")) {
                counts_.add("3 reports", "a log that has gone another way", "whole");
                remove_log(follower(i));
                need_start(follower(i), &leader());
            } else if (!has(refusal, "STALE")) {
                throw violated{follower(i).folder + " does not follow a repaired leader: " + refusal};
            } else {
                return end_stale_leader();
            }
        }
        const auto late = clock::now() + 60s;
        for (std::size_t i = 1; i < replicas;) {
            replica_server& f = follower(i);
            const std::string info = client{f.socket()}({"INFO"});
            const std::string trouble = value_of(info, "leader_link_error");
            if (has(trouble, "STALE") || has(trouble, "has been promoted since")) return end_stale_leader();
            if (has(trouble, "DIVERGED")) look_after(f);
            else if (value_of(info, "leader_connected") == "1") ++i;
            if (clock::now() > late) throw violated{f.folder + " does not follow a repaired leader: " + trouble};
            std::this_thread::sleep_for(2ms);
        }
        lead_without_lost_calls();
        return true;
    }
    /// A follower may have shown calls that the repaired leader has lost. The logs of such followers no longer exist.
    /// So the leader is promoted and gives these calls up.
    void lead_without_lost_calls() {
        client operating{leader().socket()};
        if (value_of(operating({"INFO"}), "accepts_writes") == "1") return;
        counts_.add("3 reports", "a repaired leader that lacks calls of a follower", "damaged");
        const std::string said = operating({"REPLICAOF", "NO", "ONE"});
        if (said != "OK") throw violated{"a leader that has lost calls is not promoted: " + said};
        tell(leader().folder + " is promoted without the calls that it has lost");
    }
    bool end_stale_leader() {
        leader().process.end(SIGKILL);
        counts_.add("3 reports", "a repaired log that knows of no later term", "damaged");
        return false;
    }

    void operate() {
        if (plan_->killed[0]) {
            bool promotes = plan_->promotes && std::none_of(all_.begin(), all_.end(), [&](const replica_server& r) {
                                return &r != &leader() && r.damaged;
                            });
            if (!promotes) {
                const auto before = contents_of(leader());
                const std::string why = start(leader(), nullptr);
                if (!why.empty()) {
                    need_report(leader(), why, before);
                    promotes = true;
                    if (has(why, " was removed; ")) remove_log(leader());
                    else if (plan_->repairs) {
                        if (const auto lost = repair_log(leader())) promotes = !leads_again(*lost);
                    }
                }
            }
            if (promotes) return promote_one_of_the_others();
        }
        for (std::size_t i = 1; i < replicas; ++i) {
            if (!follower(i).process.runs()) bring_back(follower(i), may_have_more());
        }
    }
    /// Returns true if followers may have calls that their leader has lost. This is allowed only after a report.
    [[nodiscard]] bool may_have_more() { return leader().reported || (leader().damaged && leader().torn); }

    // ---- invariants

    std::vector<std::uint64_t> counts_at(const replica_server& r) const {
        const std::string said = client{r.socket()}({"CALL", "counts"});
        if (said.empty() || said[0] != '(') throw violated{r.folder + " answers a read by " + said};
        std::istringstream in{said.substr(1, said.size() - 2)};
        std::vector<std::uint64_t> all;
        for (std::uint64_t n = 0; in >> n;) all.push_back(n);
        return all;
    }

    /// Compares the leader with the clients' knowledge. Then clients ask again about their calls in doubt.
    void settle() {
        const std::vector<std::uint64_t> now = counts_at(leader());
        std::uint64_t lost = 0;
        for (std::size_t i = 0; i < clients; ++i) {
            caller& c = callers_[i];
            if (now[i] > c.sure + (c.in_doubt ? 1 : 0)) throw disagreement(i, c, now[i]);
            if (now[i] >= c.sure) continue;
            lost += c.sure - now[i];
            c = {{.sure = now[i]}, c.era + 1};
        }
        if (lost > lost_allowed_) {
            throw violated{std::to_string(lost) + " acknowledged effects are lost, and the loss of " +
                           std::to_string(lost_allowed_) + " was reported"};
        }
        if (lost != 0) {
            counts_.add("3 reports", "effects lost by a repair of the leader", "damaged", lost);
        }
        client ask{leader().socket()};
        for (std::size_t i = 0; i < clients; ++i) {
            caller& c = callers_[i];
            const auto late = clock::now() + 60s;
            while (c.in_doubt) {
                const std::string answer = call(ask, i, c.sure + 1);
                if (note(i, answer)) break;
                if (clock::now() > late) throw violated{"a call that is asked for again is answered " + answer};
                for (std::size_t n = 1; n < replicas; ++n) look_after(follower(n));
                std::this_thread::sleep_for(5ms);
            }
            if (!c.knows_last_id) continue;
            const std::string again = call(ask, i, c.sure);
            if (again != std::to_string(c.sure))
                throw violated{"a call that was answered " + std::to_string(c.sure) + " is answered " + again};
        }
    }

    /// Returns the follower's error about its leader. If the leader refuses the follower because the follower has more
    /// calls, makes the follower copy the leader's log anew, and returns an empty string.
    std::string look_after(replica_server& f) {
        std::string trouble = value_of(client{f.socket()}({"INFO"}), "leader_link_error");
        if (!has(trouble, "DIVERGED")) return trouble;
        if (!may_have_more()) throw violated{"a follower has more than its leader: " + trouble};
        counts_.add("3 reports", "a log that has gone another way", "whole");
        f.process.end(SIGKILL);
        remove_log(f);
        need_start(f, &leader());
        return {};
    }

    void judge() {
        const std::vector<std::uint64_t> must = counts_at(leader());
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < clients; ++i) {
            sum += must[i];
            if (must[i] != callers_[i].sure) throw disagreement(i, callers_[i], must[i]);
        }
        if (must.back() != sum) throw violated{"half a call is there"};
        for (std::size_t i = 1; i < replicas; ++i) {
            replica_server& f = follower(i);
            std::string trouble;
            await(
                60s, 2ms,
                [&] {
                    if (counts_at(f) == must) return true;
                    trouble = look_after(f);
                    return false;
                },
                [&] { return violated{f.folder + " does not come to have what its leader has: " + trouble}; });
        }
        if (std::ranges::any_of(all_, &replica_server::reported)) return;
        const bool torn = std::ranges::any_of(all_, [](const replica_server& r) { return r.damaged && r.torn; });
        note_unreported(torn ? "torn end" : "harmless");
    }

    const programs& with_;
    const unsigned number_;
    std::array<replica_server, replicas> all_{};
    std::size_t leads_ = 0;
    std::array<caller, clients> callers_{};
    std::unique_ptr<plan> plan_;
    bool orderly_ = false;
    std::uint64_t lost_allowed_ = 0;
};

}  // namespace
}  // namespace tutti::damage

int main(int argc, char** argv) {
    using namespace tutti::damage;
    std::signal(SIGPIPE, SIG_IGN);  // a client that writes to a killed server gets an error instead
    programs with;
    campaign_options how;
    CLI::App app{
        "Kills a leader and its followers and damages their files; nothing that was acknowledged may be lost or "
        "there twice, unless the damage was reported."};
    app.add_option("--tutti", with.tutti, "the program `tutti`")->required();
    app.add_option("--procedures", with.procedures, "damage-procedures.so")->required();
    add_options(app, how);
    CLI11_PARSE(app, argc, argv);
    return run_campaign(how, [&](unsigned number, const std::string& folder, tally& counts) {
        return std::make_unique<servers>(with, number, folder, counts);
    });
}
