// One member, and messages of leaders that the test invents: the layer between C-Raft and its disk.
#include "cluster/replica/shim.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/replica/event_queue.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/raft_node.hpp"
#include "cluster/replica/simulated_io.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::replica;
using namespace tutti::cluster::replica::testing;

stored_entry command(raft_term term, const std::string& value) {
    log_entry_builder e;
    const std::vector<backend::write> writes{{"a", true, value}};
    e.add_commit({}, writes);
    return {term, RAFT_COMMAND, e.finish()};
}

stored_entry configuration(raft_term term, const std::vector<raft_id>& members) {
    raft_configuration c;
    std::vector<stored_server> all;
    for (const raft_id id : members) all.push_back({id, "member" + std::to_string(id), RAFT_VOTER});
    give(all, c);
    raft_buffer encoded;
    EXPECT_EQ(raft_configuration_encode(&c, &encoded), 0);
    raft_configuration_close(&c);
    std::string bytes{static_cast<const char*>(encoded.base), encoded.len};
    raft_free(encoded.base);
    return {term, RAFT_CHANGE, std::move(bytes)};
}

class shim_test : public ::testing::Test, private network {
protected:
    shim_test() {
        sit();
        std::vector<member> all;
        for (raft_id id = 1; id <= 3; ++id) all.push_back({id, "member" + std::to_string(id)});
        raft_node_->bootstrap(all);
        raft_node_->start();
    }
    ~shim_test() override { stand_up(); }

    void kill_and_restart() {
        stand_up();
        sit();
        raft_node_->start();
    }
    /// Sends an AppendEntries of a leader. Returns the index in the answer, or nothing if the request was refused or
    /// not answered.
    std::optional<raft_index> append(raft_id leader, raft_term term, raft_index previous, raft_term of_previous,
                                     std::vector<stored_entry> entries, raft_index committed) {
        parcel p;
        p.message.type = RAFT_IO_APPEND_ENTRIES;
        p.message.server_id = leader;
        p.from_address = "member" + std::to_string(leader);
        p.message.append_entries = {term, previous, of_previous, committed, nullptr, 0};
        p.entries = std::move(entries);
        answer_.reset();
        io_->receive(p);
        // The disk takes no time, and elections take long.
        for (int i = 0; i < 30 && !answer_; ++i) events_.step();
        return answer_;
    }
    void receive(raft_id from, unsigned short type, const std::function<void(raft_message&)>& fill_in) {
        parcel p;
        p.message.type = type;
        p.message.server_id = from;
        p.from_address = "member" + std::to_string(from);
        fill_in(p.message);
        io_->receive(p);
        for (int i = 0; i < 12; ++i) events_.step();
    }
    /// Makes the member the leader of term 3: the former leader hands over, and another member votes for it.
    void make_leader(raft_index last) {
        receive(2, RAFT_IO_TIMEOUT_NOW, [last](raft_message& m) { m.timeout_now = {2, last, 2}; });
        receive(3, RAFT_IO_REQUEST_VOTE_RESULT,
                [](raft_message& m) { m.request_vote_result = {3, true, raft_tribool_false}; });
        ASSERT_TRUE(raft_node_->is_leader());
    }
    /// Messages have two entries. Member 3 has the configuration alone, and lacks four entries, of which the last is
    /// this leader's own.
    void lead_one_that_lacks_four() {
        message_bytes_ = 2 * command(2, "x").bytes.size();
        kill_and_restart();
        ASSERT_EQ(append(2, 2, 1, 1, {command(2, "a"), command(2, "b"), command(2, "c")}, 1), 4u);
        make_leader(4);
        given_.clear();
        receive(3, RAFT_IO_APPEND_ENTRIES_RESULT, [](raft_message& m) { m.append_entries_result = {3, 4, 1}; });
        go_on_for(3500 * ms);
    }
    void say_it_is_stored(raft_id who, raft_index last) {
        receive(who, RAFT_IO_APPEND_ENTRIES_RESULT,
                [last](raft_message& m) { m.append_entries_result = {3, 0, last}; });
    }
    [[nodiscard]] backend::version applied() const { return raft_node_->state().latest(); }
    /// Fills the log up to index 10 with the configuration and nine committed commands. A snapshot has removed the
    /// first entries.
    void fill() {
        std::vector<stored_entry> nine;
        for (int i = 0; i < 9; ++i) nine.push_back(command(2, std::to_string(i)));
        ASSERT_EQ(append(2, 2, 1, 1, nine, 1), 10u);
        ASSERT_EQ(append(2, 2, 10, 2, {}, 10), 10u);
        for (int i = 0; i < 20; ++i) events_.step();
        ASSERT_GT(disk_.start, 1u);
    }
    /// Appends `count` committed entries and waits for the disk. Returns the number of entries that were appended.
    std::size_t go_on(raft_index last, unsigned count) {
        for (unsigned i = 0; i < count; ++i, ++last) {
            if (append(2, 2, last, last == 1 ? 1 : 2, {command(2, std::to_string(last))}, last + 1) != last + 1)
                return i;
        }
        for (int i = 0; i < 40; ++i) events_.step();
        return count;
    }
    [[nodiscard]] simulated_io& io() { return *io_; }
    [[nodiscard]] raft_index applied_index() const { return raft_node_->status().applied_index; }
    void go_on_for(instant how_long) {
        const instant until = events_.now() + how_long;
        events_.at(until, [] {});
        while (events_.now() < until) events_.step();
    }
    [[nodiscard]] std::string saved() const { return raft_node_->state().save(); }
    [[nodiscard]] std::size_t members() const { return raft_node_->members().size(); }

private:
    void sit() {
        network& net = *this;
        io_ = std::make_unique<simulated_io>(events_, clock_, net, disk_, 1, 0);
        raft_node_ = std::make_unique<raft_node>(io_->io(), raft_settings{.self = {1, "member1"},
                                                                          .election_ms = 1000000,
                                                                          .heartbeat_ms = 1000,
                                                                          .snapshot_threshold = 4,
                                                                          .snapshot_trailing = 1,
                                                                          .image_storage = &io_->images(),
                                                                          .piece_shards = piece_shards_,
                                                                          .message_bytes = message_bytes_,
                                                                          .history = {},
                                                                          .lost_upto = owed_});
        raft_node_->on_recovered([this] { owed_ = 0; });
    }
    void stand_up() {
        io_->kill();
        bool closed = false;
        raft_node_->close([&closed] { closed = true; });
        while (!closed && events_.step()) {}
        raft_node_.reset();
        io_.reset();
    }
    bool send(raft_id, raft_id to, parcel what) override {
        if (what.message.type == RAFT_IO_APPEND_ENTRIES && to == 3 && !what.entries.empty()) given_.push_back(what);
        take(what);
        return true;
    }
    void take(const parcel& what) {
        if (what.message.type == RAFT_IO_REQUEST_VOTE_RESULT) votes_ += what.message.request_vote_result.vote_granted;
        if (what.message.type == RAFT_IO_REQUEST_VOTE) ++asked_for_votes_;
        if (what.message.type != RAFT_IO_APPEND_ENTRIES_RESULT) return;
        const raft_append_entries_result& r = what.message.append_entries_result;
        if (r.rejected == 0) answer_ = r.last_log_index;
    }

protected:
    event_queue events_{1};
    skewed_clock clock_{events_};
    disk disk_;
    raft_index owed_ = 0;
    std::size_t piece_shards_ = 1024, message_bytes_ = 1u << 20;
    std::vector<parcel> given_;  // entries, to member 3
    unsigned votes_ = 0, asked_for_votes_ = 0;

private:
    std::unique_ptr<simulated_io> io_;
    std::unique_ptr<raft_node> raft_node_;
    std::optional<raft_index> answer_;
};

TEST_F(shim_test, acknowledges_only_compared_entries) {
    ASSERT_EQ(append(2, 2, 1, 1, {command(2, "x"), command(2, "y")}, 1), 3u);
    // Another leader, whose log is equal up to 1. The later entries of this member may differ from the leader's.
    EXPECT_EQ(append(3, 3, 1, 1, {}, 1), 1u);
    EXPECT_EQ(append(3, 3, 2, 2, {}, 1), 2u);
    injected_fault = fault::more_than_compared;
    EXPECT_EQ(append(3, 3, 1, 1, {}, 1), 3u);  // C-Raft's own behaviour
    injected_fault = fault::none;
    // This leader has another entry there.
    EXPECT_EQ(append(3, 3, 2, 2, {command(3, "z")}, 1), 3u);
    EXPECT_EQ(disk_.entries.at(2).term, 3u);
    EXPECT_EQ(append(3, 3, 3, 3, {command(3, "z"), command(3, "z")}, 1), 5u);
}

TEST_F(shim_test, suspends_votes_until_lost_entries_return) {
    ASSERT_EQ(append(2, 2, 1, 1, {command(2, "x"), command(2, "y"), command(2, "z")}, 1), 4u);
    disk_.entries.resize(2);
    owed_ = 4;
    kill_and_restart();
    const auto ask_for_its_vote = [this] {
        receive(3, RAFT_IO_REQUEST_VOTE, [](raft_message& m) { m.request_vote = {3, 3, 9, 2, true, false}; });
    };
    ask_for_its_vote();
    receive(2, RAFT_IO_TIMEOUT_NOW, [](raft_message& m) { m.timeout_now = {2, 2, 2}; });
    ASSERT_EQ(append(2, 2, 2, 2, {command(2, "y")}, 1), 3u);
    ask_for_its_vote();
    EXPECT_EQ(votes_, 0u);
    EXPECT_EQ(asked_for_votes_, 0u);
    EXPECT_EQ(owed_, 4u);
    ASSERT_EQ(append(2, 2, 3, 2, {command(2, "z")}, 1), 4u);
    EXPECT_EQ(owed_, 0u);
    ask_for_its_vote();
    EXPECT_EQ(votes_, 1u);
}

TEST_F(shim_test, commits_earlier_terms_by_an_own_entry) {
    const backend::version nothing = applied();
    ASSERT_EQ(append(2, 2, 1, 1, {command(2, "x")}, 1), 2u);
    make_leader(2);
    say_it_is_stored(3, 2);
    EXPECT_EQ(applied(), nothing);  // a later leader may have another entry there
    say_it_is_stored(3, 3);
    EXPECT_EQ(applied(), nothing + 1);
}

TEST_F(shim_test, detects_counting_for_earlier_terms) {
    const backend::version nothing = applied();
    ASSERT_EQ(append(2, 2, 1, 1, {command(2, "x")}, 1), 2u);
    injected_fault = fault::counts_for_old_terms;
    make_leader(2);
    say_it_is_stored(3, 2);
    injected_fault = fault::none;
    EXPECT_EQ(applied(), nothing + 1);
}

TEST_F(shim_test, restores_the_configuration_after_a_truncation) {
    fill();
    ASSERT_EQ(append(2, 2, 10, 2, {configuration(2, {1, 2, 3, 4})}, 10), 11u);
    EXPECT_EQ(members(), 4u);
    ASSERT_EQ(append(3, 3, 10, 2, {command(3, "x")}, 10), 11u);
    EXPECT_EQ(members(), 3u);
}

TEST_F(shim_test, restores_the_configuration_after_a_restart) {
    fill();
    ASSERT_EQ(append(2, 2, 10, 2, {configuration(2, {1, 2, 3, 4})}, 10), 11u);
    kill_and_restart();
    EXPECT_EQ(members(), 4u);
    ASSERT_EQ(append(3, 3, 10, 2, {command(3, "x")}, 10), 11u);
    EXPECT_EQ(members(), 3u);
}

TEST_F(shim_test, keeps_and_saves_a_committed_configuration) {
    fill();
    ASSERT_EQ(append(2, 2, 10, 2, {configuration(2, {1, 2, 3, 4})}, 11), 11u);
    std::vector<stored_entry> more;
    for (int i = 0; i < 6; ++i) more.push_back(command(2, "x"));
    ASSERT_EQ(append(2, 2, 11, 2, more, 17), 17u);
    for (int i = 0; i < 20; ++i) events_.step();
    ASSERT_GT(disk_.start, 12u);
    ASSERT_EQ(disk_.snapshot->configuration.size(), 4u);
    ASSERT_EQ(append(2, 2, 17, 2, {configuration(2, {1, 2, 3, 4, 5})}, 17), 18u);
    EXPECT_EQ(members(), 5u);
    ASSERT_EQ(append(3, 3, 17, 2, {command(3, "x")}, 17), 18u);
    EXPECT_EQ(members(), 4u);
}

TEST_F(shim_test, saves_no_uncommitted_configuration) {
    fill();
    const raft_index saved = disk_.snapshot->index;
    ASSERT_EQ(append(2, 2, 10, 2, {configuration(2, {1, 2, 3, 4})}, 10), 11u);
    std::vector<stored_entry> more;
    for (int i = 0; i < 9; ++i) more.push_back(command(2, "x"));
    ASSERT_EQ(append(2, 2, 11, 2, more, 10), 20u);
    for (int i = 0; i < 20; ++i) events_.step();
    EXPECT_EQ(disk_.snapshot->index, saved);
    ASSERT_EQ(append(2, 2, 20, 2, {}, 20), 20u);
    for (int i = 0; i < 20; ++i) events_.step();
    EXPECT_EQ(disk_.snapshot->index, 20u);
    EXPECT_EQ(disk_.snapshot->configuration.size(), 4u);
}

/// A leader that does not know this member's progress begins with the first entry.
TEST_F(shim_test, does_not_append_entries_of_a_snapshot) {
    fill();
    const auto before = applied();
    std::vector<stored_entry> all{configuration(1, {1, 2, 3})};
    for (int i = 0; i < 10; ++i) all.push_back(command(2, std::to_string(i)));
    EXPECT_EQ(append(2, 2, 0, 0, all, 11), 11u);
    for (int i = 0; i < 20; ++i) events_.step();
    EXPECT_EQ(applied(), before + 1);
    EXPECT_EQ(disk_.start + disk_.entries.size(), 12u);
    // Also entries that are all in the snapshot, and entries that begin in its middle.
    EXPECT_EQ(append(2, 2, 0, 0, {all.begin(), all.begin() + 2}, 11), 11u);
    EXPECT_EQ(append(2, 2, 2, 2, {all.begin() + 2, all.end()}, 11), 11u);
    EXPECT_EQ(append(2, 2, 11, 2, {command(2, "more")}, 12), 12u);
    EXPECT_EQ(disk_.start + disk_.entries.size(), 13u);
}

TEST_F(shim_test, applies_entries_while_an_image_is_written) {
    piece_shards_ = 64;
    kill_and_restart();
    io().hold_images();
    ASSERT_EQ(go_on(1, 12), 12u);
    // The member has begun an image, and its first piece is not written yet.
    EXPECT_EQ(io().pieces(), 1u);
    EXPECT_FALSE(disk_.snapshot);
    EXPECT_EQ(applied(), 13u);
    EXPECT_EQ(disk_.entries.size(), 13u);
    io().let_images_go();
    ASSERT_EQ(go_on(13, 1), 1u);
    EXPECT_GT(io().pieces(), 10u);
    ASSERT_TRUE(disk_.snapshot);
    // The image shows the state at its start, not at its end.
    EXPECT_LT(disk_.snapshot->index, 8u);
    state_machine of_snapshot;
    of_snapshot.load(disk_.snapshot->bytes);
    EXPECT_EQ(of_snapshot.latest(), disk_.snapshot->index);
    EXPECT_EQ(disk_.start + disk_.entries.size(), 15u);
    const std::string before = saved();
    kill_and_restart();
    ASSERT_EQ(append(2, 2, 14, 2, {}, 14), 14u);
    EXPECT_EQ(saved(), before);
}

TEST_F(shim_test, survives_a_failed_image) {
    io().fail_images(100);
    ASSERT_EQ(go_on(1, 12), 12u);
    EXPECT_GT(io().pieces(), 0u);
    EXPECT_FALSE(disk_.snapshot);
    EXPECT_EQ(disk_.entries.size(), 13u);
    EXPECT_EQ(applied(), 13u);
    // The member waits before the next attempt, however many entries arrive.
    ASSERT_EQ(go_on(13, 1), 1u);
    EXPECT_LE(io().pieces(), events_.now() / (1000 * ms) + 1);
    io().fail_images(0);
    const instant later = events_.now() + 2000 * ms;
    events_.at(later, [] {});
    while (events_.now() < later) events_.step();
    ASSERT_EQ(go_on(14, 2), 2u);
    EXPECT_TRUE(disk_.snapshot);
}

TEST_F(shim_test, keeps_the_log_when_killed_during_an_image) {
    io().hold_images();
    ASSERT_EQ(go_on(1, 12), 12u);
    const std::string before = saved();
    kill_and_restart();
    ASSERT_EQ(append(2, 2, 13, 2, {}, 13), 13u);
    EXPECT_EQ(saved(), before);
    ASSERT_EQ(go_on(13, 8), 8u);
    EXPECT_TRUE(disk_.snapshot);
}

TEST_F(shim_test, sends_missing_entries_piece_by_piece) {
    lead_one_that_lacks_four();
    ASSERT_EQ(given_.size(), 1u) << "heartbeats have no entries while these are in progress";
    EXPECT_EQ(given_.back().message.append_entries.prev_log_index, 1u);
    EXPECT_EQ(given_.back().entries.size(), 2u);
    // The member has these entries. C-Raft does not count them yet, because they are of an earlier term.
    say_it_is_stored(3, 3);
    go_on_for(1500 * ms);
    ASSERT_EQ(given_.size(), 2u);
    EXPECT_EQ(given_.back().message.append_entries.prev_log_index, 3u);
    EXPECT_EQ(given_.back().entries.size(), 2u);
    say_it_is_stored(3, 5);
    EXPECT_EQ(applied_index(), 5u);
}

TEST_F(shim_test, detects_a_piece_that_is_sent_forever) {
    injected_fault = fault::sends_uncounted_again;
    lead_one_that_lacks_four();
    say_it_is_stored(3, 3);
    go_on_for(1500 * ms);
    injected_fault = fault::none;
    ASSERT_EQ(given_.size(), 2u);
    EXPECT_EQ(given_.back().message.append_entries.prev_log_index, 1u);
}

TEST_F(shim_test, detects_each_omitted_step) {
    fill();
    ASSERT_EQ(append(2, 2, 10, 2, {configuration(2, {1, 2, 3, 4})}, 10), 11u);
    injected_fault = fault::configuration_stays;
    ASSERT_EQ(append(3, 3, 10, 2, {command(3, "x")}, 10), 11u);
    injected_fault = fault::none;
    EXPECT_EQ(members(), 4u);
}

}  // namespace
