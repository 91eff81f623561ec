// tutti-damage-members: a group of three members, which are killed and whose files are damaged, and an operator who
// follows docs/cluster-replication.md. See README.md.
#include <signal.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <tutti/cluster/engine.hpp>
#include <tutti/cluster/errors.hpp>
#include <tutti/cluster/member.hpp>
#include <tutti/cluster/node.hpp>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cli/port.hpp"
#include "damage/replica_lane.hpp"

namespace tutti::damage {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::size_t clients = 3, members = 3;
constexpr const char* within = "127.0.0.1:";

/// All decisions of a round.
struct plan {
    explicit plan(support::random& dice) : damage{draw{dice}} {
        run = std::chrono::microseconds{dice.below(30'000)};
        const std::size_t who = dice.below(100);
        const std::size_t first = dice.below(members);
        killed[first] = true;
        if (who >= 60) killed[(first + 1) % members] = true;
        if (who >= 80) killed = {true, true, true};
        later = dice.one_in(2);
        damage.victim = dice.next();
        repairs = dice.one_in(2);
        damage.keeps_earlier = dice.one_in(4);
    }
    damage_plan damage;
    std::chrono::microseconds run{};
    std::array<bool, members> killed{};
    bool later = false, repairs = false;
};

struct member : replica {
    std::string output, address;

    [[nodiscard]] std::string said() const { return bytes_of(output); }
};

class group final : public replica_lane {
public:
    group(std::string tutti, std::string folder, tally& counts)
        : replica_lane{tutti, std::move(folder), {16, 512, 4096, 8192}, counts}, tutti_{std::move(tutti)} {
        std::string all = "tutti://";
        for (std::size_t i = 0; i < members; ++i) {
            member& m = all_[i];
            m.folder = folder_ + "/" + std::string(1, static_cast<char>('a' + i));
            m.output = m.folder + ".output";
            m.address = within + std::to_string(cli::free_port());
            all += (i == 0 ? "" : ",") + m.address;
        }
        for (std::size_t i = 0; i < members; ++i) {
            start(all_[i], i == 0 ? std::vector<std::string>{"--new-group"} : joining(all_[i]));
            await_voter(all_[i]);
        }
        how_.address = all;
        how_.request_timeout = 20s;
        here_ = std::make_unique<cluster::node>(how_);
        atomically([&](tx& t) {
            for (std::size_t i = 0; i <= clients; ++i) at(i).publish(t, 0);
        });
    }

    void round(support::random& dice) override {
        plan_ = std::make_unique<plan>(dice);
        std::vector<replica*> all, dead;
        for (std::size_t i = 0; i < members; ++i) {
            all.push_back(&all_[i]);
            if (plan_->killed[i]) dead.push_back(&all_[i]);
        }
        begin_round(all, dead);
        play();
        harm(plan_->damage, all, dead);
        operate();
        settle();
        if (std::ranges::none_of(all_, &member::reported)) note_unreported("harmless");
    }

private:
    [[nodiscard]] std::vector<std::string> files_of(const replica& r) const override {
        std::vector<std::string> all;
        for (const auto& f : fs::directory_iterator{r.folder + "/log"}) {
            if (f.is_regular_file()) all.push_back(f.path().string());
        }
        std::ranges::sort(all);
        for (const char* const name : {"/durable", "/member"}) all.push_back(r.folder + name);
        std::erase_if(all, [](const std::string& f) { return !fs::exists(f); });
        // Names are relative to the folder of the first file.
        std::ranges::rotate(all, std::ranges::find(all, r.folder + "/durable"));
        return all;
    }
    [[nodiscard]] std::string earlier_of(const replica& r) const override { return r.folder + ".earlier"; }
    [[nodiscard]] cluster::ref<std::uint64_t> at(std::size_t i) const { return {*here_, {0, i}}; }

    // ---- processes

    [[nodiscard]] std::vector<std::string> joining(const member& m) const {
        std::string others;
        for (const member& r : all_) {
            if (&r != &m) others += (others.empty() ? "" : ",") + r.address;
        }
        return {"--join", others};
    }
    void start(member& m, const std::vector<std::string>& more) {
        std::vector<std::string> words{
            tutti_, "member", "run", "--data-dir", m.folder, "--listen", m.address, "--election-timeout", "0.15"};
        words.insert(words.end(), more.begin(), more.end());
        m.process = child_process{words, m.output};
        counts_.add("1 rounds", "starts", "number");
    }
    [[nodiscard]] std::vector<std::string> addresses() const {
        std::vector<std::string> all;
        for (const member& r : all_) all.push_back(r.address);
        return all;
    }
    [[nodiscard]] cluster::group_status facts() const { return cluster::query_group(addresses(), 500ms); }

    void await_voter(const member& m) {
        await(
            60s, 5ms,
            [&] {
                return std::ranges::any_of(facts().members, [&](const cluster::member_status& f) {
                    return f.address == m.address && f.votes && !f.state.empty();
                });
            },
            [&] { return violated{m.folder + " does not become a voter: " + m.said()}; });
    }

    // ---- actions of programs

    void count_up(std::size_t who) {
        told& c = callers_[who];
        while (!stop_.load()) {
            std::uint64_t found = 0;
            try {
                bool writes = false;
                atomically([&](tx& t) {
                    writes = false;
                    found = at(who).read(t);
                    if (found != c.sure && !(c.in_doubt && found == c.sure + 1)) return;
                    at(who).write(t) = found + 1;
                    ++at(clients).write(t);
                    writes = true;
                });
                if (!writes) {
                    c.odd = disagreement(who, c, found).what();
                    return;
                }
                c.sure = found + 1;
                c.in_doubt = false;
                ++acknowledged_;
            } catch (const cluster::outcome_unknown&) {
                // If this block has read the number, `found` may show that the earlier block in doubt has taken effect.
                if (c.in_doubt && found == c.sure + 1) ++c.sure;
                c.in_doubt = true;
                counts_.add("4 answers", "outcome unknown", "number");
                return;
            } catch (const cluster::node_lost&) {
                counts_.add("4 answers", "no effect", "number");
                return;
            } catch (const std::exception& e) {
                c.odd = e.what();
                return;
            }
        }
    }

    void play() {
        stop_ = false;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < clients; ++i) threads.emplace_back([this, i] { count_up(i); });
        std::this_thread::sleep_for(plan_->run);
        bool first = true;
        for (std::size_t i = 0; i < members; ++i) {
            if (!plan_->killed[i]) continue;
            if (!first && plan_->later) std::this_thread::sleep_for(plan_->run / 4);
            first = false;
            all_[i].process.send(SIGKILL);
        }
        for (std::size_t i = 0; i < members; ++i) {
            if (plan_->killed[i]) all_[i].process.wait();
        }
        stop_ = true;
        // Programs that wait for an answer keep waiting while the operator acts.
        waiting_ = std::move(threads);
    }

    // ---- actions of the operator

    void replace(member& m) {
        // The member's number in the group; the folder may contain another number, or none.
        std::string said;
        tell(m.folder + " is replaced");
        std::string others;
        for (const member& r : all_) {
            if (&r != &m) others += (others.empty() ? "" : ",") + r.address;
        }
        await(
            60s, 20ms,
            [&] {
                return ask({"member", "remove", m.address, "--group", others, "--timeout", "20"}, said) == 0 ||
                       has(said, "is not a member of the group:");
            },
            [&] { return violated{"a member cannot be removed: " + said}; });
        fs::remove_all(m.folder);
        fs::remove_all(earlier_of(m));  // the earlier files belong to a member that no longer exists
        start(m, joining(m));
        await_voter(m);
        counts_.add("3 reports", "a member that was replaced", "damaged");
    }

    /// Does nothing if the member runs. If the member has ended, checks its message, and repairs or replaces the
    /// member.
    void bring_back(member& m, const std::string& before) {
        if (!m.process.has_ended()) return;
        const std::string why = m.said();
        tell(m.folder + " ended: " + why);
        if (!m.damaged) throw violated{"a member whose files are whole does not go on: " + m.folder + ": " + why};
        const bool says_how = has(why, "remove") || has(why, "empty folder") || has(why, "readdress");
        if (!has(why, m.folder) || !says_how)
            throw violated{"a start ends without saying what is damaged and what to do: " + why};
        if (!m.reported && digest_of(files_of(m)) != before)
            throw violated{"a start that was refused has changed files of " + m.folder};
        if (note_report(m) && plan_->repairs) {
            std::string said;
            if (repair(m, m.folder, said)) return start(m, {});
        }
        replace(m);
    }

    void operate() {
        std::array<std::string, members> before;
        for (std::size_t i = 0; i < members; ++i) {
            if (!plan_->killed[i]) continue;
            if (all_[i].damaged) before[i] = digest_of(files_of(all_[i]));  // no other member's start may fail
            check(all_[i]);
            start(all_[i], {});
        }
        // A member is up when it answers with a state, and all members have the leader's data.
        cluster::group_status found;
        await(
            100s, 5ms,
            [&] {
                for (std::size_t i = 0; i < members; ++i) bring_back(all_[i], before[i]);
                found = facts();
                return is_whole(found);
            },
            [&] {
                std::string all;
                for (const cluster::member_status& f : found.members)
                    all += "; " + f.address + " " + f.state + " " + f.error;
                return violated{"the group does not come to have the same everywhere: " + found.error + all};
            });
        for (std::thread& t : waiting_) t.join();
        waiting_.clear();
        for (const told& c : callers_) {
            if (!c.odd.empty()) throw violated{c.odd};
        }
    }
    /// Runs `tutti log check` for a killed member, and checks the result.
    void check(const member& m) {
        try {
            const cluster::member_log log = cluster::check_member_folder(m.folder);
            if (!log.damage.empty() && !m.damaged)
                throw violated{"a log that is whole is said to be damaged: " + m.folder + ": " + log.damage.front()};
        } catch (const cluster::member_error& e) {
            if (!m.damaged) throw violated{"a folder that is whole is refused: " + m.folder + ": " + e.what()};
        }
    }
    [[nodiscard]] static bool is_whole(const cluster::group_status& facts) {
        if (facts.members.size() != members || facts.leader.empty()) return false;
        const auto& first = facts.members.front();
        return std::ranges::all_of(facts.members, [&](const cluster::member_status& f) {
            return f.votes && (f.state == "leader" || f.state == "follower") && f.error.empty() &&
                   f.last_index == first.last_index && f.applied_index == first.last_index &&
                   f.version == first.version && f.objects == first.objects && f.bytes == first.bytes;
        });
    }

    // ---- invariants

    void settle() {
        std::array<std::uint64_t, clients + 1> now{};
        await(
            60s, 0ms,
            [&] {
                try {
                    atomically([&](tx& t) {
                        for (std::size_t i = 0; i <= clients; ++i) now[i] = at(i).read(t);
                    });
                    return true;
                } catch (const cluster::node_lost&) {
                    return false;
                }
            },
            [] { return violated{"the group cannot be read"}; });
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < clients; ++i) {
            told& c = callers_[i];
            sum += now[i];
            if (now[i] != c.sure && !(c.in_doubt && now[i] == c.sure + 1)) throw disagreement(i, c, now[i]);
            c = {.sure = now[i]};
        }
        if (sum != now[clients]) throw violated{"half a block is there"};
    }

    const std::string tutti_;
    std::array<member, members> all_{};
    cluster::engine_options how_{};
    std::unique_ptr<cluster::node> here_;
    std::array<told, clients> callers_{};
    std::unique_ptr<plan> plan_;
    std::vector<std::thread> waiting_;

public:
    ~group() override {
        stop_ = true;
        for (std::thread& t : waiting_) t.join();
    }
    group(const group&) = delete;
    group& operator=(const group&) = delete;
};

}  // namespace
}  // namespace tutti::damage

int main(int argc, char** argv) {
    using namespace tutti::damage;
    std::signal(SIGPIPE, SIG_IGN);
    std::string tutti;
    campaign_options how;
    CLI::App app{
        "Kills members of a group and damages their files; nothing that was acknowledged may be lost or there twice."};
    app.add_option("--tutti", tutti, "the program `tutti`")->required();
    add_options(app, how);
    CLI11_PARSE(app, argc, argv);
    return run_campaign(how, [&](unsigned, const std::string& folder, tally& counts) {
        return std::make_unique<group>(tutti, folder, counts);
    });
}
