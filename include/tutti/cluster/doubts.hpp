/// @file
/// Transactions in doubt: commits of a node that is gone, of which no node that is left knows the outcome. What an
/// operator sees of them, and how an operator settles one.
///
///     for (const auto& answer : tutti::cluster::ask_doubts({.addresses = {"127.0.0.1:7001", "127.0.0.1:7002"}}))
///         for (const auto& d : answer.doubts) std::cout << d.transaction.text() << '\n';
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/cluster/id.hpp"
#include "tutti/cluster/status.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// The name of a transaction: its text is node.thread.number, as in a timeline.
struct transaction_id {
    std::uint16_t node = 0;    ///< that ran it
    std::uint16_t thread = 0;  ///< of that node
    std::uint64_t number = 0;  ///< of this thread's transactions, from 1 on
    friend auto operator<=>(const transaction_id&, const transaction_id&) noexcept = default;

    [[nodiscard]] TUTTI_EXPORT std::string text() const;
    /// Returns nothing where the text is no such name.
    [[nodiscard]] TUTTI_EXPORT static std::optional<transaction_id> parse(std::string_view text);
    template <class V>
    void fields(V& v) {
        v(node), v(thread), v(number);
    }
};

/// What one node knows of the outcome.
enum class doubt_state : std::uint8_t {
    asking,     ///< other participants have still to say what they know
    open,       ///< no participant that is left knows it: an operator may settle it
    committed,  ///< the node has settled it so
    aborted,
};
[[nodiscard]] constexpr doubt_state last(doubt_state) noexcept { return doubt_state::aborted; }

/// A transaction that is, or was, in doubt at one node.
struct doubt {
    transaction_id transaction{};
    doubt_state state{};
    bool by_hand = false;                       ///< an operator has settled it, and not another participant
    std::uint64_t for_ms = 0;                   ///< since the node lost the one that ran it
    std::uint64_t version = 0;                  ///< if it is committed
    std::vector<std::uint16_t> participants{};  ///< the other nodes that took part and are connected
    std::vector<std::uint16_t> silent{};        ///< of these, those that have still to say what they know
    std::uint64_t objects = 0;                  ///< that it was to write at the node
    std::vector<object_id> first_objects{};     ///< of these, 16 at most

    template <class V>
    void fields(V& v) {
        v(transaction), v(state), v(by_hand), v(for_ms), v(version), v(participants), v(silent), v(objects),
            v(first_objects);
    }
};

struct doubts_answer {
    std::string address;
    bool answered = false;
    std::vector<doubt> doubts{};  ///< those in doubt, 256 at most, and the latest 64 that were settled
    std::string trouble{};        ///< why there is no answer, and what to do
};

/// Asks all nodes at once for their transactions in doubt, as ask_nodes does for their facts.
/// Throws connection_error where an address is none.
[[nodiscard]] TUTTI_EXPORT std::vector<doubts_answer> ask_doubts(const observer_options& whom);

enum class settling : std::uint8_t {
    done,           ///< the node has settled it, and has told the other participants
    was_done,       ///< the node knew that outcome already
    contradiction,  ///< the node knows the other outcome, and nothing has changed
    asking,         ///< other participants have still to say what they know: try again
    runs,           ///< the node hears the one that runs it, which decides
    unknown,        ///< the node knows nothing of that transaction
    not_here,       ///< another participant settles it: that of the lowest number
    failed,         ///< the node has no memory for it: try again
};
[[nodiscard]] constexpr settling last(settling) noexcept { return settling::failed; }

struct settling_answer {
    std::optional<settling> result{};
    std::uint16_t node = 0;  ///< of not_here: which
    std::string trouble{};   ///< why there is no result; the node may have settled it all the same

    template <class V>
    void fields(V& v) {
        settling what = result.value_or(settling::failed);
        v(what), v(node);
        result = what;
    }
};

/// Has one node settle a transaction that is in doubt there: all of its writes at all participants that this node is
/// connected with, or none of them. It may be repeated: the first one decides.
/// Throws connection_error where an address is none, and std::out_of_range where there is no such node.
[[nodiscard]] TUTTI_EXPORT settling_answer settle_doubt(const observer_options& whom, std::uint16_t node,
                                                              const transaction_id& which, bool commits);

}  // namespace tutti::cluster
