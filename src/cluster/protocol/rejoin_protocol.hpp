// The protocol by which a new process replaces a lost node, and the other nodes admit that process:
// docs/cluster-protocol.md, "When a node rejoins". The *former* process is the one that the new process replaces.
//
//   1. rejoin_request: the new process asks all other nodes repeatedly. A node answers once it has noticed the loss of
//      the former process, and has no peer reference to it any more.
//   2. ownership_report: each node's answer lists what the node knows about objects.
//      If a node has an object, the new process knows enough about this object. If all nodes only have pointers to an
//      object, the new process asks again in another round. Such an object was moving when the nodes reported, or has
//      ended with the former process.
//   3. rejoin_done: the new process now knows which of the objects homed at this node still exist, and tells the other
//      nodes.
//   4. rejoin_ack: the other nodes answer, and send their requests to the new process from then on.
//
// Invariants:
//   RJN1  Until the new process has all ownership reports, no node sends requests to it. The new process sends a
//       request to a node only after that node has admitted it.
//   RJN2  A node that sends an ownership report has noticed the loss of the former process, and has no peer reference
//       to it. Nor is that node connected with a former process of any other node that rejoins.
//   RJN3  The rejoin version is higher than the clock that any other node sent with its ownership report.
//   RJN4  Names of the new process's transactions and holds are higher than those of every former process.
//   RJN5  A node that sends an ownership report of a second or later round has ended all commits that it had begun
//       before that round.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/protocol_node.hpp"

namespace tutti::cluster {

/// The port through which a node reaches the others while it is not admitted.
class rejoin_transport : public message_sender {
public:
    /// Returns the process of that node to which this node is connected, or 0 if there is no connection.
    [[nodiscard]] virtual std::uint64_t process_of(node_number n) = 0;
};

class rejoin_protocol {
public:
    rejoin_protocol(protocol_node& node, rejoin_transport& transport) noexcept : node_{node}, transport_{transport} {}

    /// Begins the rejoin of a new process whose cluster already runs. Call this function before the first request.
    /// `serving` states which other nodes serve already. A process that does not serve is about to rejoin, so its loss
    /// loses no knowledge.
    void begin(const std::vector<bool>& serving);
    /// Sends every unanswered request again.
    /// REQUIRES: begin was called.
    void resend();
    /// Waits until the rejoin is over, a node is lost too early, another round begins, or `until` is reached.
    /// @returns whether another round has begun since the latest call
    [[nodiscard]] bool wait(base::deadline until);
    /// Returns true if all other nodes have admitted this one, except those that were lost meanwhile.
    [[nodiscard]] bool is_over();
    /// Returns the node that was lost before it had sent its ownership report, if there is one. This process then has
    /// to end and start again.
    [[nodiscard]] std::optional<node_number> lost_before_report();
    /// Returns the rejoin version, at which the objects of former processes have ended. Returns 0 if this
    /// process has not rejoined.
    [[nodiscard]] std::uint64_t version();
    /// Returns the nodes that this process still waits for. Some of these nodes have not sent their ownership report
    /// yet.
    [[nodiscard]] std::vector<node_number> awaited_nodes();

    /// Handles a message of the rejoin protocol. Returns false if the message is invalid.
    /// REQUIRES: protocol_node::receive was called for the message.
    [[nodiscard]] bool receive(const wire::header& h, std::string_view body);
    /// Handles any other message of a node that is lost here. Returns false if the node may not send that message.
    [[nodiscard]] bool receive_other(node_number from);
    /// Records the loss of a node.
    /// REQUIRES: the protocol node has lost the node.
    void on_node_lost(node_number node);

private:
    static constexpr unsigned name_bits = 40;
    static constexpr std::uint64_t max_eras = ~std::uint64_t{0} >> (name_bits + 1);

    /// The parts of a list that another node sends.
    struct incoming_list {
        std::uint64_t number = 0;  ///< number of the ownership report, or era
        std::uint32_t parts = 0;
        std::vector<bool> received;
        std::vector<wire::owner_update> places;
    };
    struct peer {
        incoming_list list;
        bool is_lost = false;       ///< lost while this process was about to rejoin
        bool has_served = false;    ///< served when the rejoin began
        bool has_reported = false;  ///< has sent its whole ownership report of this round
        bool has_admitted = false;  ///< has admitted this process
        bool serves = false;
        std::uint64_t latest_round = 0;  ///< the latest round, from the second on, in which the peer has asked
        std::uint64_t epoch = 0;         ///< the epoch of the commits here that had begun by that round
        std::uint64_t era = 0;           ///< the era of the latest process that has rejoined as this peer
    };

    [[nodiscard]] bool receive_rejoin_request(node_number from, const wire::rejoin_request& asked);
    [[nodiscard]] bool receive_ownership_report(node_number from, wire::ownership_report&& message);
    [[nodiscard]] bool receive_rejoin_done(node_number from, wire::rejoin_done&& message);
    [[nodiscard]] bool receive_rejoin_ack(node_number from, const wire::rejoin_ack& message);
    void evaluate_reports();
    void finish_rejoin();
    void admit_if_both(node_number n);
    [[nodiscard]] bool is_awaited(node_number n) const noexcept;
    [[nodiscard]] bool is_over_locked() const noexcept;
    /// Adds a part to a list. Returns true once the list is complete.
    [[nodiscard]] static bool add_part(incoming_list& to, std::uint64_t of, wire::list_part&& list);
    /// Sends a list in as many messages as it needs.
    template <class Message>
    void send_list(node_number to, wire::message_type type, Message what, const std::vector<wire::owner_update>& all);
    [[nodiscard]] bool is_rejoining() const noexcept { return rejoining_ && !rejoined_; }

    protocol_node& node_;
    rejoin_transport& transport_;
    std::mutex guard_;
    std::condition_variable changed_;  ///< signals the conditions of `wait`
    bool rejoining_ = false;           ///< this process rejoins
    bool rejoined_ = false;
    std::uint64_t round_ = 1;
    std::uint64_t awaited_round_ = 1;  ///< the round when `wait` returned last
    std::uint64_t era_ = 0;            ///< above the eras of all earlier rejoins; 0: this process has not rejoined
    std::uint64_t version_ = 0;        ///< the rejoin version
    std::uint64_t reports_sent_ = 0;   ///< how many ownership reports this node has sent
    std::optional<node_number> lost_before_report_;
    std::array<peer, max_nodes> peers_;
    struct object_state {
        wire::owner_update latest;
        bool resolved = false;
        bool ended = false;  ///< the object has ended with the former process
    };
    std::unordered_map<object_id, object_state, object_id_hash> objects_;
    std::vector<std::vector<wire::owner_update>> lists_for_homes_;  ///< by home: the owners to report
};

}  // namespace tutti::cluster
