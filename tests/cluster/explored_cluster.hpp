// A cluster whose caller chooses the next event (exploration.hpp): a message arrives, or a client continues. Messages
// may overtake each other. The handling of one message on a node is one step. So are the actions of a client until it
// sends a request, or, in a `fine` program, until it opens the next object.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/exploration.hpp"
#include "cluster/history.hpp"
#include "cluster/simulation/simulated_cluster.hpp"
#include "interleaving/fiber.hpp"

namespace tutti::cluster::testing {

/// Objects that a transaction opens in one trip.
struct opening {
    std::vector<unsigned> objects;
    bool writes = false;
};

enum class form : std::uint8_t {
    flat,
    closed,       ///< everything after the first opening is a nested block
    checkpoint,   ///< everything after each opening is a checkpointed block
    open,         ///< the first opening is an open nested block under an abstract lock, with an undo
    snapshot,     ///< the transaction is read-only
    irrevocable,  ///< from the start
    late,         ///< irrevocable from the second opening on
    sleeper,      ///< the transaction waits until an object that it has read changes
};

struct small_transaction {
    std::vector<opening> openings;
    form how = form::flat;
    bool variables_beside = false;  ///< another participant decides as well, so a single message cannot commit

    /// Returns the number of nodes other than `at` on which the transaction writes, if objects stay at home.
    [[nodiscard]] std::size_t others_written(node_number at, node_number nodes) const {
        std::set<unsigned> all;
        for (const opening& a : openings) {
            for (const unsigned n : a.objects) {
                if (a.writes && n % nodes != at) all.insert(n % nodes);
            }
        }
        return all.size();
    }
};

struct small_client {
    node_number at = 0;
    std::vector<small_transaction> transactions;
};

struct small_program {
    const char* name = "";
    node_number nodes = 2;
    unsigned objects = 3;  ///< object n has its home on node n modulo `nodes`
    object_placement how = object_placement::writer;
    std::vector<small_client> clients;
    unsigned attempts = 1;  ///< attempts of a transaction until its client continues
    unsigned pauses = 0;    ///< pauses of a client before it gives up, as after a timeout
    bool fine = false;      ///< other clients may run between any two openings, and not only while an answer is awaited
    bool twice = false;     ///< every message that asks for locks arrives twice
    bool copied = false;    ///< each node begins with copies of the other nodes' objects
    struct copy_at {
        node_number at = 0;
        unsigned object = 0;
    };
    std::optional<copy_at> only_copy{};  ///< the only copy; nodes make no further copies
    /// The node whose clock is ahead of the others' at the start.
    std::optional<node_number> ahead{};
    /// The node that ends at some moment; each other node learns of the end at some later moment. A block's writes on
    /// several other nodes are in doubt on all of them or on none. Other writes are in doubt only if the block has
    /// `variables_beside`.
    std::optional<node_number> ends{};
    /// The client that begins when its node has learned of the end.
    std::optional<small_client> follows{};
    /// Pairs of nodes whose link is cut at some moment. Each node of a pair learns of the cut at a moment of its own.
    std::vector<std::pair<node_number, node_number>> cut{};
    /// The client of the node that rejoins. That node starts again when all others have learned of its end, and asks
    /// each once to be admitted. The others receive the request at some later moment, and then this client begins.
    std::optional<small_client> returns{};
    std::uint64_t orders_run = 0;  ///< limit for programs with too many orders for a test; 0: all

    /// Returns true if reports of a loss can have an effect. Only a writer of objects that the lost node has copied
    /// waits for such reports.
    [[nodiscard]] bool losses_matter() const noexcept {
        if (!only_copy) return copied;
        const node_number at = only_copy->at;
        return ends == at || std::ranges::any_of(cut, [at](const auto& c) { return c.first == at || c.second == at; });
    }
};

class explored_cluster final : public run, private simulation::simulated_cluster {
public:
    explicit explored_cluster(const small_program& p);
    ~explored_cluster() override;

    [[nodiscard]] event_set& events() noexcept override { return event_set_; }
    [[nodiscard]] std::string verdict() override;

    [[nodiscard]] const history& past() const noexcept { return history_; }
    /// Returns the number of committed transactions of the program.
    [[nodiscard]] unsigned committed() const noexcept { return committed_; }
    [[nodiscard]] unsigned partial_rollbacks() const noexcept { return partial_rollbacks_; }
    /// Returns the number of snapshot readers that asked for a time before a rejoin.
    [[nodiscard]] unsigned readers_too_late() const noexcept { return readers_too_late_; }
    /// Counts transactions of a lost node: commits and aborts that another participant knew, and objects that stay in
    /// doubt.
    [[nodiscard]] commit_participant::statistics doubts() const;

private:
    class client;

    void on_arrival(node_number to, const std::string& frame) override;
    void on_change(node_number at, const object_id& id) override;
    void on_node_lost(node_number at, node_number gone) override;
    void on_rejoined(node_number n) override;
    void fail(const char* what) override {
        if (wrong_.empty()) wrong_ = what;
    }
    /// Adds an event: node `at` calls `what`.
    void later(node_number at, std::string name, std::function<void()> what);
    void resume(client& c);
    /// Delivers the reports of losses that do not matter. REQUIRES: nothing is pending.
    void deliver_losses();
    void end_one();
    void start_one();
    void add_client(const small_client& c);
    void fill();
    void copy_all();
    [[nodiscard]] std::size_t holders_of_name() const;
    /// Returns true if another transaction has written an object that `work` has read.
    [[nodiscard]] bool is_changed(const distributed_transaction& work) const;
    /// Resolves commits whose clients did not learn the outcome: they have committed if their values are there.
    void resolve_outcomes();
    [[nodiscard]] std::string wrong_with(const object_id& id);
    [[nodiscard]] std::string lost_with(const object_id& id);
    [[nodiscard]] bool is_in_doubt(const object_id& id) const;
    [[nodiscard]] std::string doubted_in_part() const;
    [[nodiscard]] bool leads_to(const object_id& id, node_number from, node_number owner);

    const small_program program_;
    const std::vector<object_id> objects_;
    event_set event_set_;
    history history_;
    interleaving::fiber main_;
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<std::pair<node_number, std::string>> losses_;  // reports that do not matter, with their receivers
    std::string wrong_;
    unsigned committed_ = 0, partial_rollbacks_ = 0, readers_too_late_ = 0;
    unsigned notified_nodes_ = 0;  // nodes that have learned of the end
    const client* irrevocable_ = nullptr;
};

}  // namespace tutti::cluster::testing
