// A cluster in which whoever runs it chooses what happens next (orders.hpp): a message arrives, or a client goes on.
// Messages may overtake each other. What a node does with one message is one step, and so is what a client does until
// it asks others, or, in a `fine` program, opens the next object.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/history.hpp"
#include "cluster/orders.hpp"
#include "cluster/simulation/mesh.hpp"
#include "interleaving/fiber.hpp"

namespace tutti::cluster::testing {

/// Objects that a transaction opens in one trip, and whether it overwrites them.
struct opening {
    std::vector<unsigned> objects;
    bool writes = false;
};

enum class form : std::uint8_t {
    flat,
    closed,       ///< all that follows the first opening is a block inside it
    checkpoint,   ///< so is what follows each
    open,         ///< its first opening is a block that commits by itself, under an abstract lock, and has an undo
    snapshot,     ///< it has promised to write nothing
    irrevocable,  ///< from the begin on
    late,         ///< from the second opening on
    sleeper,      ///< it waits until somebody has changed what it reads
};

struct small_transaction {
    std::vector<opening> openings;
    form how = form::flat;
    bool variables_beside = false;  ///< something else is decided, so no one message does

    /// On how many nodes beside its own it writes, where objects are at home.
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
    unsigned objects = 3;  ///< object n has its home on node n, or, from `nodes` on, on the next one
    moving how = moving::to_writer;
    std::vector<small_client> clients;
    unsigned attempts = 1;  ///< of a transaction, until its client goes on
    unsigned pauses = 0;    ///< of a client; then it gives up, as if whatever it waits for took too long
    bool fine = false;      ///< others may come between any two openings, and not only while an answer is awaited
    bool twice = false;     ///< whatever asks for locks arrives twice
    bool copied = false;    ///< each node begins with copies of what the others have
    struct copy_at {
        node_number at = 0;
        unsigned object = 0;
    };
    std::optional<copy_at> only_copy{};  ///< there is no other, and none comes
    /// A node whose clock is ahead of the others' at the start.
    std::optional<node_number> ahead{};
    /// A node that ends at some moment, of which each of the others hears at some later one. What its block writes on
    /// several others is in doubt on all of these or on none. Nothing else is, but where a block has variables beside.
    std::optional<node_number> ends{};
    /// A client that begins when its node has heard of that.
    std::optional<small_client> follows{};
    /// Pairs of nodes between which nothing goes any more, from some moment on, of which each hears at a moment of its
    /// own.
    std::vector<std::pair<node_number, node_number>> cut{};
    /// It is started again when all others have heard of that, and asks them once to let it in, of which they hear at
    /// some later moment. Then this client begins.
    std::optional<small_client> returns{};
    std::uint64_t orders_run = 0;  ///< where there are too many for a test; 0: all

    /// Whether anything waits for what nodes tell each other of a loss: only who writes what the lost node has copies
    /// of does.
    [[nodiscard]] bool losses_matter() const noexcept {
        if (!only_copy) return copied;
        const node_number at = only_copy->at;
        return ends == at || std::ranges::any_of(cut, [at](const auto& c) { return c.first == at || c.second == at; });
    }
};

class small_world final : public run, private simulation::mesh {
public:
    explicit small_world(const small_program& p);
    ~small_world() override;

    [[nodiscard]] agenda& events() noexcept override { return agenda_; }
    [[nodiscard]] std::string verdict() override;

    [[nodiscard]] const history& past() const noexcept { return history_; }
    /// Transactions of the program that have committed.
    [[nodiscard]] unsigned committed() const noexcept { return committed_; }
    [[nodiscard]] unsigned rewinds() const noexcept { return rewinds_; }
    /// Snapshot readers that have asked for a time before a return.
    [[nodiscard]] unsigned readers_too_late() const noexcept { return readers_too_late_; }
    /// Of transactions whose node has gone: where another participant knew of a commit, or of none; objects that stay
    /// in doubt.
    [[nodiscard]] voter::figures doubts() const;

private:
    class client;

    void arrive(node_number to, const std::string& frame) override;
    void heard_of_change(node_number at, const object_id& id) override;
    void heard_of_end(node_number at, node_number gone) override;
    void heard_of_return(node_number n) override;
    void go_wrong(const char* what) override {
        if (wrong_.empty()) wrong_ = what;
    }
    /// What that node does then is one event.
    void later(node_number at, std::string name, std::function<void()> what);
    void resume(client& c);
    /// Those that do not matter. REQUIRES: nothing is pending.
    void hear_losses();
    void end_one();
    void start_one();
    void add_client(const small_client& c);
    void fill();
    void copy_all();
    [[nodiscard]] std::size_t holders_of_name() const;
    /// Whether somebody has written what that has read.
    [[nodiscard]] bool is_changed(const transaction& work) const;
    /// Of commits that nobody was told the end of: those whose values are there have taken place.
    void learn_ends();
    [[nodiscard]] std::string wrong_with(const object_id& id);
    [[nodiscard]] std::string lost_with(const object_id& id);
    [[nodiscard]] bool is_in_doubt(const object_id& id) const;
    [[nodiscard]] std::string doubted_in_part() const;
    [[nodiscard]] bool leads_to(const object_id& id, node_number from, node_number owner);

    const small_program program_;
    const std::vector<object_id> objects_;
    agenda agenda_;
    history history_;
    interleaving::fiber main_;
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<std::pair<node_number, std::string>> losses_;  // words that do not matter, and whose they are
    std::string wrong_;
    unsigned committed_ = 0, rewinds_ = 0, readers_too_late_ = 0;
    unsigned have_heard_ = 0;  // of the end
    const client* irrevocable_ = nullptr;
};

}  // namespace tutti::cluster::testing
