// Abstract locks by name, the holder's half: which a thread has, and how it comes by more.
//
// No cycle of waiters lasts: a block that finds a name taken asks again for a bounded number of times, and then gives
// up all that it holds and starts over. No livelock: the age of an execution is what the node's clock says at its first
// claim, and stays with it over restarts; the younger of two gives up soon and the older late, as for abstract locks of
// one process (core/conflict/abstract_locks.hpp), and clocks move by messages, so an execution that keeps losing
// becomes the oldest.
//
// Belongs to one thread.
#pragma once

#include <span>
#include <vector>

#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster {

/// The abstract lock that one irrevocable block of the cluster has at a time.
inline constexpr object_id irrevocable_token{0x7475747469206972, 0x7265766f6361626c};

class claims {
public:
    claims(site& here, network& net, std::uint16_t slot) noexcept
        : site_{here}, network_{net}, name_{here.self, slot, here.before_names + 1} {}
    ~claims() { untie(); }

    /// Another execution begins: it has no age yet.
    void begin_execution() noexcept { age_ = 0; }
    /// Of the execution; drawn at the first call.
    [[nodiscard]] std::uint64_t age() noexcept {
        if (age_ == 0) age_ = site_.clock.tick();
        return age_;
    }
    /// Takes all of them, or what it can get: conflict, if others hold the rest; then `release` should follow. What
    /// holds of `family` have is no obstacle. too_large: more than a home keeps, or a
    /// message holds.
    [[nodiscard]] outcome take(std::span<const wire::claim_item> names, const transaction_name& family);
    /// The irrevocable token. conflict: another has it; what was held before is held still, and it may be asked again.
    [[nodiscard]] outcome take_token(const transaction_name& family);
    /// That node is about to reserve objects for the hold, or may.
    /// False: it is lost (`lost_node`).
    [[nodiscard]] bool note_owner(node_number owner) { return note(owner, false); }
    /// All of it, at all homes and owners.
    void release() {
        if (!empty()) release_places();
    }

    /// Of the hold that runs, or that begins with the next claim.
    [[nodiscard]] const transaction_name& name() const noexcept { return name_; }
    [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
    /// Whether every home of the locks that it holds is there: those of one that is lost are lost with it. But for the
    /// token.
    [[nodiscard]] bool stand() noexcept;
    [[nodiscard]] bool token_stands() noexcept { return is_there(home_of(irrevocable_token, site_.nodes)); }
    [[nodiscard]] node_number lost_node() const noexcept { return lost_; }

private:
    [[nodiscard]] bool has(const wire::claim_item& wanted) const noexcept;
    /// One question to each home; leaves those that are not granted.
    outcome ask(std::vector<wire::claim_item>& wants, const transaction_name& family, bool& older);
    [[nodiscard]] bool is_there(node_number home) noexcept;
    [[nodiscard]] bool note(node_number at, bool keeps_locks);
    void untie() noexcept;
    void release_places();
    outcome lose_node(node_number node) noexcept {
        lost_ = node;
        return outcome::lost;
    }

    site& site_;
    network& network_;
    transaction_name name_;
    std::uint64_t age_ = 0;
    std::vector<wire::claim_item> held_;
    struct place {
        node_number at;
        bool keeps_locks;  // that the block asked for
    };
    std::vector<place> places_;  // that were asked, whatever they said
    node_number lost_ = 0;
};

}  // namespace tutti::cluster
