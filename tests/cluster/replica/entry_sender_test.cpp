// The sender of entries over a network that the test plays, with C-Raft's part of each call played as well.
#include "cluster/replica/entry_sender.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace tutti::cluster::replica;

class entry_sender_test : public ::testing::Test {
protected:
    static constexpr std::size_t piece_bytes = 250, window_bytes = 4 * piece_bytes;
    static constexpr unsigned short probe = 0, pipeline = 1, snapshot = 2;
    static constexpr raft_id other = 7;
    static constexpr raft_time heartbeat = 50, election = 300;
    struct sent_message {
        raft_append_entries what;
        raft_io_send* request;
        raft_io_send_cb done;
    };
    entry_sender_test() {
        io_.impl = this;
        io_.time = [](raft_io* io) { return of(io).now_; };
        io_.send = [](raft_io* io, raft_io_send* r, const raft_message* m, raft_io_send_cb done) {
            if (of(io).refuses_) return static_cast<int>(RAFT_IOERR);
            of(io).sent_.push_back({m->append_entries, r, done});
            return 0;
        };
        servers_[0].id = 1;
        servers_[1].id = other;
        raft_.io = &io_;
        raft_.state = RAFT_LEADER;
        raft_.current_term = 3;
        raft_.configuration.servers = servers_;
        raft_.configuration.n = 2;
        raft_.leader_state.progress = progress_;
        raft_.heartbeat_timeout = heartbeat;
        raft_.election_timeout = election;
        raft_.log.offset = 1000;  // the last index of an empty log
        its().state = pipeline;
        its().match_index = 10;
        its().next_index = 11;
    }

    ~entry_sender_test() override {
        while (!sent_.empty()) write(RAFT_CANCELED);
    }

    raft_progress& its() { return progress_[1]; }
    /// Sends `n` entries of 100 bytes, or of another size, from next_index on, as C-Raft does.
    int send(unsigned n, std::size_t bytes = 100) {
        entries_.emplace_back(n);
        for (raft_entry& e : entries_.back()) e.buf.len = bytes;
        const raft_index previous = its().next_index - 1;
        raft_message m{};
        m.type = RAFT_IO_APPEND_ENTRIES;
        m.server_id = other;
        m.append_entries = {raft_.current_term, previous, 2, commit_, entries_.back().data(), n};
        const int failed = sender_.send(&io_, &request_, m, [](raft_io_send* r, int status) {
            static_cast<entry_sender_test*>(r->data)->told_.push_back(status);
        });
        if (failed != 0) return failed;
        if (its().state == pipeline) its().next_index = previous + 1 + n;
        its().last_send = now_;
        return 0;
    }
    /// Completes the write of the first waiting message with `status`.
    void write(int status = 0) {
        request_.data = this;
        const sent_message m = sent_.front();
        sent_.pop_front();
        m.done(m.request, status);
    }
    unsigned last_entries() const { return sent_.back().what.n_entries; }
    void acknowledge(raft_index last) {
        its().match_index = std::max(its().match_index, last);
        its().next_index = std::max(its().next_index, last + 1);
        if (its().state == probe) its().state = pipeline;
        sender_.acknowledge(other, raft_.current_term, last);
    }
    /// Sends what C-Raft sends while it probes, one heartbeat later.
    unsigned probe_again(unsigned n) {
        its().state = probe;
        now_ += heartbeat;
        EXPECT_EQ(send(n), 0);
        return last_entries();
    }

    raft raft_{};
    raft_io io_{};
    entry_sender sender_{raft_, io_, piece_bytes};
    raft_time now_ = 1000;
    raft_index commit_ = 500;
    bool refuses_ = false;
    std::deque<sent_message> sent_;
    std::vector<int> told_;

private:
    static entry_sender_test& of(raft_io* io) { return *static_cast<entry_sender_test*>(io->impl); }
    raft_server servers_[2]{};
    raft_progress progress_[2]{};
    raft_io_send request_{};
    std::deque<std::vector<raft_entry>> entries_;  // C-Raft's, until they are written
};

TEST_F(entry_sender_test, passes_small_messages_unchanged) {
    commit_ = 11;
    ASSERT_EQ(send(2), 0);
    EXPECT_EQ(last_entries(), 2u);
    EXPECT_EQ(sent_.back().what.prev_log_index, 10u);
    EXPECT_EQ(sent_.back().what.leader_commit, 11u);
    EXPECT_EQ(its().state, pipeline);
    EXPECT_EQ(its().next_index, 13u);
    write();
    EXPECT_EQ(told_, std::vector<int>{0});
}

TEST_F(entry_sender_test, cuts_large_messages_and_holds_back_the_rest) {
    ASSERT_EQ(send(10), 0);
    EXPECT_EQ(last_entries(), 2u);
    EXPECT_EQ(sent_.back().what.leader_commit, 12u);  // after index 12, the member may have other entries
    EXPECT_EQ(its().state, probe);
    EXPECT_EQ(its().next_index, 13u);
    acknowledge(12);
    ASSERT_EQ(send(8), 0);
    EXPECT_EQ(last_entries(), 2u);
    EXPECT_EQ(sent_.back().what.prev_log_index, 12u);
    EXPECT_EQ(its().next_index, 15u);
}

TEST_F(entry_sender_test, sends_an_oversized_entry_alone) {
    ASSERT_EQ(send(3, 5000), 0);
    EXPECT_EQ(last_entries(), 1u);
    EXPECT_EQ(its().next_index, 12u);
}

TEST_F(entry_sender_test, does_not_resend_entries_in_progress) {
    ASSERT_EQ(probe_again(2), 2u);
    EXPECT_EQ(its().next_index, 11u);
    EXPECT_EQ(probe_again(5), 0u);
    EXPECT_EQ(sent_.back().what.prev_log_index, 10u);
    EXPECT_EQ(sent_.back().what.leader_commit, 10u);
    write();
    EXPECT_EQ(probe_again(5), 0u);
    // The next entries are sent after the entries in progress are acknowledged.
    acknowledge(12);
    EXPECT_EQ(probe_again(3), 2u);
    EXPECT_EQ(sent_.back().what.prev_log_index, 12u);
}

TEST_F(entry_sender_test, sends_nothing_between_heartbeats) {
    ASSERT_EQ(send(10), 0);
    its().state = pipeline;
    its().next_index = 11;
    const std::size_t before = sent_.size();
    EXPECT_EQ(send(10), RAFT_NOCONNECTION);
    EXPECT_EQ(sent_.size(), before);
    EXPECT_EQ(its().state, probe);  // so C-Raft does not try again with each entry
    EXPECT_EQ(its().next_index, 11u);
}

TEST_F(entry_sender_test, limits_entries_in_progress_to_the_window) {
    std::size_t bytes = 0;
    while (send(2) == 0) bytes += 200;
    EXPECT_EQ(bytes, window_bytes);
    EXPECT_EQ(its().state, probe);
    const raft_index next = its().next_index;
    EXPECT_EQ(probe_again(2), 0u);
    EXPECT_EQ(its().next_index, next);
    acknowledge(12);
    EXPECT_EQ(send(2), 0);
    EXPECT_EQ(send(2), RAFT_NOCONNECTION);
}

TEST_F(entry_sender_test, resends_unacknowledged_entries_after_an_election_timeout) {
    ASSERT_EQ(probe_again(2), 2u);
    now_ += 10 * election;
    EXPECT_EQ(probe_again(2), 0u) << "the connection has not taken it yet";
    write();
    now_ += election - 2 * heartbeat;
    EXPECT_EQ(probe_again(2), 0u);
    EXPECT_EQ(probe_again(2), 2u);
}

TEST_F(entry_sender_test, resends_entries_after_a_failed_write) {
    ASSERT_EQ(probe_again(2), 2u);
    write(RAFT_NOCONNECTION);
    EXPECT_EQ(told_, std::vector<int>{RAFT_NOCONNECTION});
    EXPECT_EQ(probe_again(2), 2u);
}

TEST_F(entry_sender_test, keeps_its_state_after_an_immediate_failure) {
    refuses_ = true;
    EXPECT_EQ(send(10), RAFT_IOERR);
    EXPECT_EQ(its().state, pipeline);
    EXPECT_EQ(its().next_index, 11u);
    refuses_ = false;
    EXPECT_EQ(send(10), 0);
    EXPECT_EQ(last_entries(), 2u);
}

TEST_F(entry_sender_test, forgets_progress_after_a_rejection_or_new_term) {
    ASSERT_EQ(probe_again(2), 2u);
    sender_.forget(other);
    ASSERT_EQ(probe_again(2), 2u);
    raft_.current_term = 4;
    EXPECT_EQ(probe_again(2), 2u);
    EXPECT_EQ(probe_again(2), 0u);
}

TEST_F(entry_sender_test, sends_only_unacknowledged_entries) {
    its().state = probe;
    its().next_index = 20;
    sender_.acknowledge(other, 2, 30);  // of an earlier term
    EXPECT_EQ(its().next_index, 20u);
    sender_.acknowledge(other, 3, 15);
    EXPECT_EQ(its().next_index, 20u);
    sender_.acknowledge(other, 3, 30);
    EXPECT_EQ(its().next_index, 31u);
    sender_.acknowledge(other, 3, 2000);
    EXPECT_EQ(its().next_index, 1001u);
    its().state = snapshot;
    its().next_index = 20;
    sender_.acknowledge(other, 3, 30);
    EXPECT_EQ(its().next_index, 20u);
}

TEST_F(entry_sender_test, ignores_a_removed_member) {
    ASSERT_EQ(send(2), 0);
    raft_.configuration.n = 1;
    sender_.acknowledge(other, 3, 12);
    write();
    EXPECT_EQ(told_, std::vector<int>{0});
}

}  // namespace
