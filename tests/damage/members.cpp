// tutti-damage-members: a group of three members, which are killed and whose files are damaged, and an operator who
// does what docs/cluster-replication.md says. See README.md.
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
#include "damage/campaign.hpp"
#include "damage/file_damage.hpp"
#include "support/child_process.hpp"

namespace tutti::damage {
namespace {

using namespace std::chrono_literals;
using support::child_process;
using clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::size_t clients = 3, members = 3;
constexpr const char* within = "127.0.0.1:";

/// All decisions of a round.
struct plan {
    explicit plan(support::random& dice) : harm{dice} {
        run = std::chrono::microseconds{dice.below(30'000)};
        const std::size_t who = dice.below(100);
        const std::size_t first = dice.below(members);
        killed[first] = true;
        if (who >= 60) killed[(first + 1) % members] = true;
        if (who >= 80) killed = {true, true, true};
        later = dice.one_in(2);
        victim = dice.next();
        repairs = dice.one_in(2);
        keeps_earlier = dice.one_in(4);
    }
    draw harm;
    std::chrono::microseconds run{};
    std::array<bool, members> killed{};
    bool later = false, repairs = false, keeps_earlier = false;
    std::uint64_t victim = 0;
};

struct replica {
    std::string folder, output, earlier;
    std::string address;
    child_process process{};
    bool damaged = false;   ///< in this round
    bool reported = false;  ///< its damage was

    [[nodiscard]] std::string said() const { return bytes_of(output); }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> all;
        for (const auto& f : fs::directory_iterator{folder + "/log"}) {
            if (f.is_regular_file()) all.push_back(f.path().string());
        }
        std::ranges::sort(all);
        for (const char* const name : {"/durable", "/member"}) all.push_back(folder + name);
        std::erase_if(all, [](const std::string& f) { return !fs::exists(f); });
        // The folder of the first is what names are relative to.
        std::ranges::rotate(all, std::ranges::find(all, folder + "/durable"));
        return all;
    }
};

struct caller {
    std::uint64_t sure = 0;  ///< after the blocks that were acknowledged
    bool in_doubt = false;   ///< one more may have committed
    std::string odd{};
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class group final : public lane {
public:
    group(std::string tutti, std::string folder, tally& counts)
        : tutti_{std::move(tutti)}, folder_{std::move(folder)}, counts_{counts} {
        std::string all = "tutti://";
        for (std::size_t i = 0; i < members; ++i) {
            replica& m = all_[i];
            const std::string name = folder_ + "/" + std::string(1, static_cast<char>('a' + i));
            m = {name, name + ".output", name + ".earlier", within + std::to_string(cli::free_port()), {}};
            all += (i == 0 ? "" : ",") + m.address;
        }
        for (std::size_t i = 0; i < members; ++i) {
            start(all_[i], i == 0 ? std::vector<std::string>{"--new-group"} : joining(all_[i]));
            await_voter(all_[i]);
        }
        how_.address = all;
        how_.patience = 20s;
        here_ = std::make_unique<cluster::node>(how_);
        atomically([&](tx& t) {
            for (std::size_t i = 0; i <= clients; ++i) at(i).publish(t, 0);
        });
    }

    void round(support::random& dice) override {
        plan_ = std::make_unique<plan>(dice);
        std::string who;
        for (std::size_t i = 0; i < members; ++i) {
            all_[i].damaged = all_[i].reported = false;
            who += plan_->killed[i] ? " " + all_[i].folder : "";
        }
        tell("---- round " + std::to_string(++round_) + ": kills" + who);
        play();
        harm();
        operate();
        settle();
        judge();
    }
    std::uint64_t acknowledged() const override { return acknowledged_; }

private:
    /// For whoever looks into a violation.
    void tell(const std::string& line) const {
        std::FILE* const to = std::fopen((folder_ + "/history").c_str(), "a");
        if (to == nullptr) return;
        std::fprintf(to, "%s\n", line.c_str());
        std::fclose(to);
    }
    [[nodiscard]] cluster::ref<std::uint64_t> at(std::size_t i) const { return {*here_, {0, i}}; }

    // ---- processes

    [[nodiscard]] std::vector<std::string> joining(const replica& m) const {
        std::string others;
        for (const replica& r : all_) {
            if (&r != &m) others += (others.empty() ? "" : ",") + r.address;
        }
        return {"--join", others};
    }
    void start(replica& m, const std::vector<std::string>& more) {
        std::vector<std::string> words{tutti_,     "member",  "run",        "--folder", m.folder,
                                       "--listen", m.address, "--election", "0.15"};
        words.insert(words.end(), more.begin(), more.end());
        m.process = child_process{words, m.output};
        counts_.add("1 rounds", "starts", "number");
    }
    [[nodiscard]] std::vector<std::string> addresses() const {
        std::vector<std::string> all;
        for (const replica& r : all_) all.push_back(r.address);
        return all;
    }
    [[nodiscard]] cluster::group_facts ask() const { return cluster::ask_group(addresses(), 500ms); }

    void await_voter(const replica& m) {
        const auto late = clock::now() + 60s;
        for (;;) {
            const cluster::group_facts facts = ask();
            for (const cluster::member_facts& f : facts.members) {
                if (f.address == m.address && f.votes && !f.state.empty()) return;
            }
            if (clock::now() > late) throw violated{m.folder + " does not become a voter: " + m.said()};
            std::this_thread::sleep_for(5ms);
        }
    }
    int run(const std::vector<std::string>& words, std::string& said) const {
        std::vector<std::string> all{tutti_};
        all.insert(all.end(), words.begin(), words.end());
        const std::string to = folder_ + "/asked";
        child_process one{all, to};
        const int status = one.wait();
        said = bytes_of(to);
        tell(said);
        return status;
    }

    // ---- what programs do

    void count_up(std::size_t who) {
        caller& c = callers_[who];
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
                    c.odd = "client " + std::to_string(who) + " was told of " + std::to_string(c.sure) +
                            " effects, and " + std::to_string(found) + " are there";
                    return;
                }
                c.sure = found + 1;
                c.in_doubt = false;
                ++acknowledged_;
            } catch (const cluster::outcome_unknown&) {
                // Before it, an earlier block in doubt was looked at, if the last read came so far.
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
            counts_.add("1 rounds", "processes killed", "number", plan_->killed[i] ? 1 : 0);
        }
        stop_ = true;
        // Programs that wait for an answer go on waiting while the operator acts.
        waiting_ = std::move(threads);
    }

    // ---- what happens to files

    void harm() {
        std::vector<std::size_t> dead;
        for (std::size_t i = 0; i < members; ++i) {
            if (plan_->killed[i]) dead.push_back(i);
        }
        replica& m = all_[dead[plan_->victim % dead.size()]];
        target of{m.files(), {}, m.earlier, {16, 512, 4096, 8192}};
        for (std::size_t i = 0; i < members; ++i) {
            if (&all_[i] != &m) of.donors.push_back(all_[i].folder);
        }
        damage_ = apply(plan_->harm, of);
        m.damaged = damage_.what != kind::none;
        counts_.add("2 damage", name_of(damage_.what), "done", m.damaged ? 1 : 0);
        if (!m.damaged) counts_.add("1 rounds", "rounds without damage", "number");
        else tell(damage_.text);
        if (plan_->keeps_earlier && !m.damaged) {
            fs::remove_all(m.earlier);
            fs::copy(m.folder, m.earlier, fs::copy_options::recursive);
        }
    }

    // ---- what the operator does

    [[nodiscard]] static std::string all_bytes(const replica& m) {
        std::string all;
        for (const std::string& f : m.files()) all += f + "\n" + bytes_of(f);
        return all;
    }

    void replace(replica& m) {
        // The number that the group knows; the folder may say another, or nothing.
        std::string said;
        tell(m.folder + " is replaced");
        const auto late = clock::now() + 60s;
        std::string others;
        for (const replica& r : all_) {
            if (&r != &m) others += (others.empty() ? "" : ",") + r.address;
        }
        while (run({"member", "remove", m.address, "--group", others, "--within", "20"}, said) != 0) {
            if (has(said, "no member")) break;
            if (clock::now() > late) throw violated{"a member cannot be removed: " + said};
            std::this_thread::sleep_for(20ms);
        }
        fs::remove_all(m.folder);
        fs::remove_all(m.earlier);  // of a member that is no more
        start(m, joining(m));
        await_voter(m);
        counts_.add("3 reports", "a member that was replaced", "damaged");
    }

    /// Whether the member runs, a while after its start, or has ended.
    void bring_back(replica& m, const std::string& before) {
        if (!m.process.has_ended()) return;
        const std::string why = m.said();
        tell(m.folder + " ended: " + why);
        if (!m.damaged) throw violated{"a member whose files are whole does not go on: " + m.folder + ": " + why};
        const bool says_how = has(why, "remove") || has(why, "empty folder") || has(why, "readdress");
        if (!has(why, m.folder) || !says_how)
            throw violated{"a start ends without saying what is damaged and what to do: " + why};
        if (!m.reported && all_bytes(m) != before)
            throw violated{"a start that was refused has changed files of " + m.folder};
        const bool is_first = !std::exchange(m.reported, true);
        if (is_first) counts_.add("2 damage", name_of(damage_.what), "reported");
        if (plan_->repairs && is_first) {
            std::string said;
            if (run({"log", "repair", m.folder}, said) == 0) {
                counts_.add("3 reports", "a repair", "damaged");
                for (const auto& f : fs::directory_iterator{m.folder}) {
                    if (has(f.path().filename().string(), "-damaged-")) fs::remove_all(f.path());
                }
                start(m, {});
                return;
            }
            counts_.add("3 reports", "a repair that was refused", "damaged");
        }
        replace(m);
    }

    void operate() {
        std::array<std::string, members> before;
        for (std::size_t i = 0; i < members; ++i) {
            if (!plan_->killed[i]) continue;
            before[i] = all_bytes(all_[i]);
            check(all_[i]);
            start(all_[i], {});
        }
        // A member is up when it answers with a state, and all have what the leader has.
        const auto late = clock::now() + 100s;
        for (;;) {
            for (std::size_t i = 0; i < members; ++i) bring_back(all_[i], before[i]);
            const cluster::group_facts facts = ask();
            if (is_whole(facts)) break;
            if (clock::now() > late) {
                std::string all;
                for (const cluster::member_facts& f : facts.members)
                    all += "; " + f.address + " " + f.state + " " + f.trouble;
                throw violated{"the group does not come to have the same everywhere: " + facts.trouble + all};
            }
            std::this_thread::sleep_for(5ms);
        }
        for (std::thread& t : waiting_) t.join();
        waiting_.clear();
        for (const caller& c : callers_) {
            if (!c.odd.empty()) throw violated{c.odd};
        }
    }
    /// What `tutti log check` says of one that was killed.
    void check(const replica& m) {
        try {
            const cluster::member_log log = cluster::check_member_folder(m.folder);
            if (!log.damage.empty() && !m.damaged)
                throw violated{"a log that is whole is said to be damaged: " + m.folder + ": " + log.damage.front()};
        } catch (const cluster::member_error& e) {
            if (!m.damaged) throw violated{"a folder that is whole is refused: " + m.folder + ": " + e.what()};
        }
    }
    [[nodiscard]] static bool is_whole(const cluster::group_facts& facts) {
        if (facts.members.size() != members || facts.leader.empty()) return false;
        const auto& first = facts.members.front();
        return std::ranges::all_of(facts.members, [&](const cluster::member_facts& f) {
            return f.votes && (f.state == "leader" || f.state == "follower") && f.trouble.empty() &&
                   f.last_index == first.last_index && f.applied_index == first.last_index &&
                   f.version == first.version && f.objects == first.objects && f.bytes == first.bytes;
        });
    }

    // ---- what must hold

    void settle() {
        std::array<std::uint64_t, clients + 1> now{};
        const auto late = clock::now() + 60s;
        for (;;) {
            try {
                atomically([&](tx& t) {
                    for (std::size_t i = 0; i <= clients; ++i) now[i] = at(i).read(t);
                });
                break;
            } catch (const cluster::node_lost&) {
                if (clock::now() > late) throw violated{"the group cannot be read"};
            }
        }
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < clients; ++i) {
            caller& c = callers_[i];
            sum += now[i];
            if (now[i] != c.sure && !(c.in_doubt && now[i] == c.sure + 1)) {
                throw violated{"client " + std::to_string(i) + " was told of " + std::to_string(c.sure) +
                               " effects, and " + std::to_string(now[i]) + " are there"};
            }
            c = {.sure = now[i]};
        }
        if (sum != now[clients]) throw violated{"half a block is there"};
    }

    void judge() {
        if (damage_.what != kind::none && !std::ranges::any_of(all_, &replica::reported))
            counts_.add("2 damage", name_of(damage_.what), "harmless");
    }

    const std::string tutti_, folder_;
    tally& counts_;
    std::array<replica, members> all_{};
    cluster::engine_options how_{};
    std::unique_ptr<cluster::node> here_;
    std::array<caller, clients> callers_{};
    std::unique_ptr<plan> plan_;
    std::uint64_t round_ = 0;
    done damage_{};
    std::vector<std::thread> waiting_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> acknowledged_{0};

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
