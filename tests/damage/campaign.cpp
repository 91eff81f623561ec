#include "damage/campaign.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "support/memory_folder.hpp"

namespace tutti::damage {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_reports{5}, longest_round{180};

struct progress {
    std::mutex guard;
    std::condition_variable changed;
    std::uint64_t given = 0, played = 0, effects = 0;
    std::vector<clock::time_point> began;  // for each lane, the time at which its round started
    std::vector<std::uint64_t> rounds;     // for each lane, the number of its round
    std::string failure;
    std::string failed_folder;
    unsigned running = 0;
};

class campaign {
public:
    campaign(const campaign_options& how, const make_lane& make) : how_{how}, make_{make} {
        at_.began.resize(how.lanes, clock::now());
        at_.rounds.resize(how.lanes);
    }

    int run() {
        std::printf("seed %llu, %u lanes, files in %s\n", number(how_.seed), how_.lanes, how_.folder.c_str());
        at_.running = how_.lanes;
        std::vector<std::thread> all;
        for (unsigned n = 0; n < how_.lanes; ++n) all.emplace_back([this, n] { live(n); });
        watch();
        for (std::thread& t : all) t.join();
        say();
        counts_.print();
        if (at_.failure.empty()) {
            std::filesystem::remove_all(how_.folder);
            std::puts("no acknowledged effect was lost or doubled without a report");
            return 0;
        }
        std::fflush(stdout);
        std::fprintf(stderr, "violated: %s (the files are in %s)\n", at_.failure.c_str(), at_.failed_folder.c_str());
        return 1;
    }

private:
    static unsigned long long number(std::uint64_t n) { return n; }

    bool take(unsigned n) {
        const std::lock_guard hold{at_.guard};
        const std::chrono::duration<double> minutes{how_.minutes * 60};
        if (!at_.failure.empty()) return false;
        if (how_.rounds != 0 ? at_.given == how_.rounds : clock::now() - start_ > minutes) return false;
        ++at_.given;
        at_.began[n] = clock::now();
        return true;
    }

    void live(unsigned n) {
        const std::string folder = how_.folder + "/" + std::to_string(n);
        std::uint64_t round = 0;
        try {
            std::filesystem::create_directories(folder);
            const std::unique_ptr<lane> mine = make_(n, folder, counts_);
            for (; take(n); ++round) {
                support::random dice{how_.seed * 1'000'003 + n * 7'919 + round * 104'729'000'003};
                static_cast<void>(dice.next());
                const std::uint64_t before = mine->acknowledged();
                mine->round(dice);
                const std::uint64_t effects = mine->acknowledged() - before;
                counts_.add("1 rounds", "acknowledged effects", "number", effects);
                counts_.add("1 rounds", "rounds", "number");
                const std::lock_guard hold{at_.guard};
                ++at_.played;
                at_.effects += effects;
                at_.rounds[n] = round + 1;
            }
        } catch (const std::exception& e) {
            const std::lock_guard hold{at_.guard};
            if (at_.failure.empty()) {
                at_.failure = std::string{e.what()} + "; seed " + std::to_string(how_.seed) + ", lane " +
                              std::to_string(n) + ", round " + std::to_string(round);
                at_.failed_folder = folder;
            }
        }
        const std::lock_guard hold{at_.guard};
        --at_.running;
        at_.changed.notify_all();
    }

    void watch() {
        std::unique_lock hold{at_.guard};
        while (!at_.changed.wait_for(hold, between_reports, [this] { return at_.running == 0; })) {
            for (unsigned n = 0; n < how_.lanes; ++n) {
                if (clock::now() - at_.began[n] < longest_round) continue;
                // The program exits immediately, because the lane's thread cannot be ended, and because the state of
                // the lane's processes is worth examining.
                std::fprintf(stderr, "violated: round %llu of lane %u does not end; seed %llu (the files are in %s)\n",
                             number(at_.rounds[n]), n, number(how_.seed), how_.folder.c_str());
                std::fflush(nullptr);
                ::_exit(1);
            }
            hold.unlock();
            say();
            hold.lock();
        }
    }

    void say() {
        std::uint64_t played = 0, effects = 0;
        {
            const std::lock_guard hold{at_.guard};
            played = at_.played;
            effects = at_.effects;
        }
        const std::chrono::duration<double> took = clock::now() - start_;
        std::printf("%7.0f s  %llu rounds, %.1f per second; %llu effects acknowledged; %llu damages, %llu reported\n",
                    took.count(), number(played), static_cast<double>(played) / took.count(), number(effects),
                    number(counts_.sum("2 damage", "done")), number(counts_.sum("2 damage", "reported")));
        std::fflush(stdout);
    }

    const campaign_options& how_;
    const make_lane& make_;
    const clock::time_point start_ = clock::now();
    progress at_;
    tally counts_;
};

}  // namespace

void tally::add(const std::string& section, const std::string& row, const std::string& column, std::uint64_t n) {
    const std::lock_guard hold{guard_};
    all_[section][row][column] += n;
}

std::uint64_t tally::sum(const std::string& section, const std::string& column) const {
    const std::lock_guard hold{guard_};
    std::uint64_t total = 0;
    const auto of = all_.find(section);
    if (of == all_.end()) return 0;
    for (const auto& [row, columns] : of->second) {
        if (const auto c = columns.find(column); c != columns.end()) total += c->second;
    }
    return total;
}

void tally::print() const {
    const std::lock_guard hold{guard_};
    for (const auto& [section, rows] : all_) {
        std::set<std::string> columns;
        for (const auto& [row, cells] : rows) {
            for (const auto& [column, n] : cells) columns.insert(column);
        }
        std::printf("\n%-44s", section.c_str() + 2);
        for (const std::string& c : columns) std::printf("%12s", c.c_str());
        std::puts("");
        for (const auto& [row, cells] : rows) {
            std::printf("  %-42s", row.c_str());
            for (const std::string& c : columns) {
                const auto found = cells.find(c);
                std::printf("%12llu", static_cast<unsigned long long>(found == cells.end() ? 0 : found->second));
            }
            std::puts("");
        }
    }
    std::puts("");
}

void add_options(CLI::App& to, campaign_options& how) {
    how.seed = std::random_device{}();
    how.folder = support::memory_folder();
    to.add_option("--rounds", how.rounds, "ends after so many, instead of by time");
    to.add_option("--minutes", how.minutes, "how long")->check(CLI::PositiveNumber)->capture_default_str();
    to.add_option("--lanes", how.lanes, "sets of replicas at the same time")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    to.add_option("--folder", how.folder, "where files are kept, in a folder of their own")->capture_default_str();
    to.add_option("--seed", how.seed, "repeats what is chosen, though not when it comes");
}

int run_campaign(const campaign_options& how, const make_lane& make) {
    campaign_options mine{how};
    mine.folder += "/tutti-damage-XXXXXX";
    if (::mkdtemp(mine.folder.data()) == nullptr) {
        std::fprintf(stderr, "no folder can be made in %s\n", how.folder.c_str());
        return 2;
    }
    return campaign{mine, make}.run();
}

}  // namespace tutti::damage
