// The common part of the lanes of both programs: the order of a round, its damage, the operator's commands, and a
// history for the analysis of a violation.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "damage/campaign.hpp"
#include "damage/file_damage.hpp"
#include "support/child_process.hpp"

namespace tutti::damage {

using support::child_process;
using clock = std::chrono::steady_clock;

[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

struct replica {
    std::string folder;
    child_process process{};
    bool damaged = false;   ///< in this round
    bool reported = false;  ///< a start has failed because of the damage of this round
};

/// A client's knowledge of its number. Each call of the client adds one to the number.
struct told {
    std::uint64_t sure = 0;  ///< the number after the acknowledged calls
    bool in_doubt = false;   ///< one more call may have taken effect
    std::string odd{};       ///< a violation that the client has seen
};

/// Returns the violation that client `who` has found. `there`, the number of effects found, contradicts what the client
/// was told (`with`).
[[nodiscard]] violated disagreement(std::size_t who, const told& with, std::uint64_t there);

/// Polls `done` every `pause` until it returns true. Throws the result of `late` after `limit`.
template <class Done, class Late>
void await(std::chrono::seconds limit, std::chrono::milliseconds pause, Done done, Late late) {
    for (const auto end = clock::now() + limit; !done(); std::this_thread::sleep_for(pause)) {
        if (clock::now() > end) throw late();
    }
}

/// The decisions of a round that both programs make.
struct damage_plan {
    draw harm;
    std::uint64_t victim = 0;    ///< chooses the damaged replica among the killed ones
    bool keeps_earlier = false;  ///< copies the victim's files for a later round, if they are whole
};

class replica_lane : public lane {
public:
    [[nodiscard]] std::uint64_t acknowledged() const final { return acknowledged_; }

protected:
    replica_lane(std::string tutti, std::string folder, std::vector<std::uint64_t> pages, tally& counts)
        : folder_{std::move(folder)}, counts_{counts}, tutti_{std::move(tutti)}, pages_{std::move(pages)} {}

    /// Returns the files that may be damaged. Their names are relative to the folder of the first.
    [[nodiscard]] virtual std::vector<std::string> files_of(const replica& r) const = 0;
    [[nodiscard]] virtual std::string earlier_of(const replica& r) const = 0;

    void tell(const std::string& line) const;
    /// Runs the command `tutti` with `words`. Returns its exit status; `said` gets its output.
    int ask(const std::vector<std::string>& words, std::string& said) const;

    /// Begins a round in which the replicas `dead` are killed.
    void begin_round(const std::vector<replica*>& all, const std::vector<replica*>& dead);
    /// Damages one file of one replica in `dead`, or no file.
    void harm(const damage_plan& plan, const std::vector<replica*>& all, const std::vector<replica*>& dead);
    /// Records that a start of `r` has failed and named the damage. Returns true the first time in this round.
    bool note_report(replica& r);
    /// Runs `tutti log repair` for `log`, and removes the kept copy of the damaged log. Returns false if the repair was
    /// refused.
    bool repair(const replica& r, const std::string& log, std::string& said);
    /// Counts a damage that no start has reported.
    void note_unreported(const std::string& as);

    [[nodiscard]] kind damage() const { return damage_.what; }

    const std::string folder_;
    tally& counts_;
    std::atomic<std::uint64_t> acknowledged_{0};
    std::atomic<bool> stop_{false};  ///< tells clients to end

private:
    const std::string tutti_;
    const std::vector<std::uint64_t> pages_;
    std::uint64_t round_ = 0;
    done damage_{};
};

}  // namespace tutti::damage
