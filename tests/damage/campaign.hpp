// The common part of both programs: lanes that run rounds at the same time, counters, and the end of a run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace CLI {
class App;
}

namespace tutti::damage {

/// Reports that an acknowledged effect is lost or doubled without a report, or that a program misbehaves.
class violated : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct campaign_options {
    std::uint64_t rounds = 0;  ///< 0: the run ends by time
    double minutes = 1;
    std::uint64_t seed = 0;
    unsigned lanes = 4;
    std::string folder;  ///< the run creates a new folder for its files there
};

/// Adds the options of both programs. REQUIRES: `how` lives until the options are parsed.
void add_options(CLI::App& to, campaign_options& how);

/// Counts events for the table at the end. Any thread may call it.
class tally {
public:
    /// Adds n. The table is sorted by the names of `section` and `row`.
    void add(const std::string& section, const std::string& row, const std::string& column, std::uint64_t n = 1);
    void print() const;
    [[nodiscard]] std::uint64_t sum(const std::string& section, const std::string& column) const;

private:
    mutable std::mutex guard_;
    std::map<std::string, std::map<std::string, std::map<std::string, std::uint64_t>>> all_;
};

/// One set of replicas, which one thread uses.
class lane {
public:
    virtual ~lane() = default;
    /// Runs one round.
    /// @throws violated
    virtual void round(support::random& dice) = 0;
    /// Returns the number of acknowledged effects.
    [[nodiscard]] virtual std::uint64_t acknowledged() const = 0;
};
/// Makes the lane `number`, whose files are in `folder`.
using make_lane = std::function<std::unique_ptr<lane>(unsigned number, const std::string& folder, tally& counts)>;

/// Runs the rounds, and prints progress and the table. Returns the program's exit status: 1 after a violation, whose
/// files stay. The seed, the lane and the number of the round within the lane determine all decisions of a round.
int run_campaign(const campaign_options& how, const make_lane& make);

}  // namespace tutti::damage
