/// @file
/// Transactions in doubt: commits of a lost node whose outcome no remaining node knows. An operator lists and resolves
/// such transactions with these functions.
///
///     for (const auto& answer : tutti::cluster::query_doubts({.addresses = {"127.0.0.1:7001", "127.0.0.1:7002"}}))
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

/// The name of a transaction. The text form is node.thread.number, as in a timeline.
struct transaction_id {
    std::uint16_t node = 0;    ///< the node that ran the transaction
    std::uint16_t thread = 0;  ///< the thread of that node
    std::uint64_t number = 0;  ///< the number of the transaction in its thread, from 1 on
    friend auto operator<=>(const transaction_id&, const transaction_id&) noexcept = default;

    [[nodiscard]] TUTTI_EXPORT std::string text() const;
    /// Returns nullopt if the text is not such a name.
    [[nodiscard]] TUTTI_EXPORT static std::optional<transaction_id> parse(std::string_view text);
    template <class V>
    void fields(V& v) {
        v(node), v(thread), v(number);
    }
};

/// A node's knowledge of the outcome of a transaction.
enum class doubt_state : std::uint8_t {
    asking,     ///< other participants have not replied yet
    open,       ///< no remaining participant knows the outcome: an operator may resolve the transaction
    committed,  ///< the node has resolved the transaction as committed
    aborted,
};
[[nodiscard]] constexpr doubt_state last(doubt_state) noexcept { return doubt_state::aborted; }

/// A transaction that is, or was, in doubt at one node.
struct doubt {
    transaction_id transaction{};
    doubt_state state{};
    bool by_hand = false;                       ///< an operator has resolved the transaction, not another participant
    std::uint64_t for_ms = 0;                   ///< milliseconds since the loss of the node that ran the transaction
    std::uint64_t version = 0;                  ///< version of the commit, if `state` is committed
    std::vector<std::uint16_t> participants{};  ///< the other nodes that took part and are connected
    std::vector<std::uint16_t> silent{};        ///< those of `participants` that have not replied yet
    std::uint64_t objects = 0;                  ///< number of objects that the transaction would write at this node
    std::vector<object_id> first_objects{};     ///< the first of these objects, at most 16

    template <class V>
    void fields(V& v) {
        v(transaction), v(state), v(by_hand), v(for_ms), v(version), v(participants), v(silent), v(objects),
            v(first_objects);
    }
};

struct doubts_reply {
    std::string address;
    bool answered = false;
    std::vector<doubt> doubts{};  ///< the transactions in doubt, at most 256, and the 64 that were resolved last
    std::string error{};          ///< the reason why no answer came, and what to do
};

/// Asks all nodes at once for their transactions in doubt. Connects to the nodes as query_nodes does. Throws
/// connection_error if an address is malformed.
[[nodiscard]] TUTTI_EXPORT std::vector<doubts_reply> query_doubts(const observer_options& options);

enum class resolve_result : std::uint8_t {
    done,           ///< the node has resolved the transaction and has told the other participants
    was_done,       ///< the node knew this outcome already
    contradiction,  ///< the node knows the opposite outcome, and nothing has changed
    asking,         ///< other participants have not replied yet: try again
    runs,           ///< the node is connected to the node that runs the transaction, which decides the outcome
    unknown,        ///< the node does not know this transaction
    not_here,       ///< another participant resolves the transaction: the one with the lowest number
    failed,         ///< the node ran out of memory: try again
};
[[nodiscard]] constexpr resolve_result last(resolve_result) noexcept { return resolve_result::failed; }

struct resolve_reply {
    std::optional<resolve_result> result{};
    std::uint16_t node = 0;  ///< for `not_here`: the number of the node that resolves the transaction
    std::string error{};     ///< the reason why `result` is empty; the node may have resolved the transaction
                             ///< nevertheless

    template <class V>
    void fields(V& v) {
        resolve_result what = result.value_or(resolve_result::failed);
        v(what), v(node);
        result = what;
    }
};

/// Tells one node to resolve a transaction that is in doubt there. Either all writes of the transaction take effect at
/// all participants that are connected to this node, or none do. You may repeat the call: the first decision stays.
/// Throws connection_error if an address is malformed, and std::out_of_range if there is no such node.
[[nodiscard]] TUTTI_EXPORT resolve_reply resolve_doubt(const observer_options& options, std::uint16_t node,
                                                             const transaction_id& which, bool commits);

}  // namespace tutti::cluster
