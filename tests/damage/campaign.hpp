// What both programs have in common: lanes that play rounds at the same time, what is counted, and how it ends.
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

/// An acknowledged effect is lost or doubled without a report, or a program does what it must not.
class violated : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct campaign_options {
    std::uint64_t rounds = 0;  ///< 0: by the time
    double minutes = 1;
    std::uint64_t seed = 0;
    unsigned lanes = 4;
    std::string folder;  ///< the files of the run are in a new folder there
};

/// The options of both programs. REQUIRES: `how` lives until they are parsed.
void add_options(CLI::App& to, campaign_options& how);

/// Counts, for the table at the end. Any thread.
class tally {
public:
    /// `section` and `row` are printed in the order of their names.
    void add(const std::string& section, const std::string& row, const std::string& column, std::uint64_t n = 1);
    void print() const;
    [[nodiscard]] std::uint64_t sum(const std::string& section, const std::string& column) const;

private:
    mutable std::mutex guard_;
    std::map<std::string, std::map<std::string, std::map<std::string, std::uint64_t>>> all_;
};

/// One set of replicas, which one thread plays with.
class lane {
public:
    virtual ~lane() = default;
    /// @throws violated
    virtual void round(support::random& dice) = 0;
    /// The effects that were acknowledged.
    [[nodiscard]] virtual std::uint64_t acknowledged() const = 0;
};
/// Makes the lane `number`, whose files are in `folder`.
using make_lane = std::function<std::unique_ptr<lane>(unsigned number, const std::string& folder, tally& counts)>;

/// Plays the rounds, prints progress and the table, and returns the status of the program: 1 after a violation, whose
/// files stay. The decisions of a round follow from the seed, the lane and the number of the round within it.
int run_campaign(const campaign_options& how, const make_lane& make);

}  // namespace tutti::damage
