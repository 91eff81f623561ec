// A layer between C-Raft and its disk and network, which corrects errors of Debian's release (0.15).
//
// *What a leader counts.* A leader may count acknowledgements only for an entry of its own term. Once a majority has
// that entry, all entries before it are committed, too (Ongaro, dissertation 2014, section 3.6.2). This release
// of C-Raft also counts acknowledgements for entries of earlier terms, which a later leader may replace. So a leader
// begins its term with an entry of this term. The shim lowers acknowledgements of earlier entries to the index that is
// already committed.
//
// *A configuration that is truncated from the log.* A member uses the newest configuration in its log, committed or
// not. If another leader's entries replace that configuration, the member must return to the previous one. C-Raft
// before 0.17 searches the log for the previous configuration. If a snapshot has removed that entry, C-Raft crashes.
// After a start, C-Raft also takes an uncommitted configuration for a committed one, and saves it in snapshots
// (canonical/raft, issue 250). So the shim records the configurations itself: it sees each append, truncation and
// snapshot. The shim hides from C-Raft that a configuration is uncommitted. When a configuration is truncated, the shim
// restores the previous one. The node refuses a change, and a snapshot, while a configuration is uncommitted.
//
// *What a follower acknowledges.* A leader assumes that a follower's log equals its own up to the acknowledged index.
// C-Raft acknowledges everything that the follower has stored, even entries of an earlier leader that were not compared
// yet. The leader then commits an entry that no other member has, and a later leader lacks this entry
// (tests/cluster/replica found this). So the shim lowers the acknowledgement to the end of the entries that a message
// of this term has compared. (The consistency check covers the entries of the message and all earlier entries, but no
// later ones: Ongaro, section 3.5.)
//
// *Entries that are saved already.* A leader that does not know a follower's log yet sends entries from far back. If
// the follower has saved and dropped these entries, C-Raft appends them a second time at the end of its log, or rejects
// them forever. So the shim removes the entries of the follower's snapshot before C-Raft sees the message.
//
// *Entries that a member lacks.* C-Raft sends all missing entries in one message, and again at each heartbeat.
// entry_sender.hpp divides them into smaller messages.
//
// *A write that fails.* After a failed write, C-Raft truncates its log, and crashes if a second write is in progress.
// So the shim does not report the failure to C-Raft. No request that waits for the write is answered any more, and the
// node reports the failure of its disk. While C-Raft closes, the shim reports success for these writes. The reports
// then have no effect.
//
// Not thread-safe: a shim belongs to the thread of its node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/replica/entry_sender.hpp"
#include "cluster/replica/raft.hpp"

namespace tutti::cluster::replica {

class shim {
public:
    /// Puts the shim between `of` and `io`. Uses `of.data`. A message to another member contains about `message_bytes`
    /// of entries at most.
    /// REQUIRES: raft_init was called for `of`, and no other function of C-Raft since.
    shim(raft& of, raft_io& io, std::size_t message_bytes, raft_index lost_upto = 0);
    ~shim();
    shim(const shim&) = delete;
    shim& operator=(const shim&) = delete;

    /// Returns true if the newest configuration in the log is not known to be committed.
    [[nodiscard]] bool has_uncommitted_configuration() const noexcept;
    /// Hides an uncommitted configuration. Call it after each call that lets C-Raft change something.
    void hide_uncommitted_configuration() noexcept { raft_.configuration_uncommitted_index = 0; }

    /// Sets a function that is called when the member has received its lost entries again (RFT5 of raft_node.hpp).
    void on_recovered(std::function<void()> callback) { on_recovered_ = std::move(callback); }
    /// Makes C-Raft request snapshots in two steps, so that the second step may take long. Call it before raft_init.
    static void allow_images(raft_io& io) noexcept;
    /// Sets the function that writes an image (image_writer.hpp) while C-Raft waits. That function calls `end_image`
    /// when the image has ended.
    void write_images_by(std::function<void()> write) { write_image_ = std::move(write); }
    /// Reports that the image is complete (0), or has failed.
    void end_image(int status);
    /// Returns C-Raft's code of the disk's error, or 0 if there is none.
    [[nodiscard]] int failed() const noexcept { return failed_; }

private:
    /// The index up to which this log equals the log of that term's leader.
    struct verified {
        raft_term term = 0;
        raft_index index = 0;
    };
    struct pending_append;
    [[nodiscard]] static shim& of(const raft_io* io);
    void receive(raft_io* io, raft_message* m);
    void receive_result(raft_io* io, raft_message* m);
    int send_result(raft_io* io, raft_io_send* request, const raft_message& message, raft_io_send_cb done);
    void remove_saved_entries(raft_append_entries& message);
    void on_elected();
    void accept() noexcept;
    void record_configurations(const raft_entry* entries, std::size_t n);
    void restore_configuration(raft_index from);

    static int load(raft_io* io, raft_term* term, raft_id* voted_for, raft_snapshot** snapshot, raft_index* start,
                    raft_entry** entries, std::size_t* n);
    static int start(raft_io* io, unsigned every, raft_io_tick_cb tick, raft_io_recv_cb receive);
    static int append(raft_io* io, raft_io_append* request, const raft_entry* entries, unsigned n,
                      raft_io_append_cb done);
    static int send(raft_io* io, raft_io_send* request, const raft_message* message, raft_io_send_cb done);
    static int truncate(raft_io* io, raft_index from);
    static void close(raft_io* io, raft_io_close_cb done);
    static int async_work(raft_io* io, raft_io_async_work* request, raft_io_async_work_cb done);
    static int snapshot_put(raft_io* io, unsigned trailing, raft_io_snapshot_put* request,
                            const raft_snapshot* snapshot, raft_io_snapshot_put_cb done);

    raft& raft_;
    const raft_io under_;  // the original functions
    entry_sender sender_;
    raft_io_recv_cb receive_ = nullptr;
    raft_io_tick_cb tick_ = nullptr;
    raft_term last_led_term_ = 0;  // the latest term in which this member has been the leader
    raft_index first_own_ = 0;     // the first entry of that term
    int failed_ = 0;
    verified verified_;
    raft_index compared_ = 0;  // last entry that the message being received compares; 0: no comparison is pending
    std::vector<std::unique_ptr<pending_append>> unreported_;
    raft_index lost_upto_;
    std::function<void()> write_image_;
    raft_io_async_work* image_ = nullptr;  // C-Raft waits for this image
    std::function<void()> on_recovered_;
    raft_index next_ = 1;                    // index of the entry that is appended next
    std::map<raft_index, std::string> all_;  // encoded configurations by index; the first is committed
};

}  // namespace tutti::cluster::replica
