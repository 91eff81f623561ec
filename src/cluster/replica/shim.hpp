// What stands between C-Raft and its disk, for what Debian's release of it (0.15) gets wrong.
//
// *What a leader counts.* Only an entry of its own term is committed because a majority has it, and with it all before
// (Ongaro, section 3.6.2); this C-Raft counts for those of earlier terms, too, which a later leader may
// replace. So a leader begins with an entry of its own, and answers that name less are lowered to what is committed
// already.
//
// *A configuration that is taken back.* A member uses the newest configuration in its log, committed or not, and must
// go back to the one before if another leader's entries replace it. C-Raft before 0.17 looks for that in the log,
// where a snapshot may have removed it, and then crashes; it also takes an uncommitted configuration for a committed
// one after a start, and saves it in snapshots (canonical/raft, issue 250). So the shim keeps the books itself: it
// sees what is appended, truncated and replaced by snapshots, hides from C-Raft that a configuration is uncommitted,
// and puts back the one before when it is cut off. The node refuses a change, and a snapshot, while one is
// uncommitted.
//
// *What a follower says that it has.* A leader counts on an answer that a follower's log is its own up to what the
// answer names. C-Raft names all that the follower has stored, also what is of an earlier leader and was not compared
// yet: the leader then commits an entry that only it has, and a later one does without it (tests/cluster/replica found
// this). So the shim lowers the answer to what a message of this term has been compared up to (Ongaro, dissertation
// 2014, section 3.5: the consistency check covers the entries of the message and all before them, and none behind).
//
// *Entries that are saved already.* A leader that does not know yet what a follower has sends entries from far back. If
// the follower has saved these and dropped them, C-Raft appends them a second time behind its log, or refuses them
// forever. So the shim takes away what the follower's snapshot has, before C-Raft sees the message.
//
// *What a member lacks.* C-Raft sends it in one message, and again at each heartbeat. entry_sender.hpp divides it.
//
// *A write that fails.* C-Raft truncates its log then, and crashes if a second write was in progress. So it does not
// hear of it: nothing that waits for the write is answered any more, and the node says that it is broken. When C-Raft
// has been closed, it hears that all is well, which it does not act on.
//
// Thread safety: none, as of the node that it belongs to.
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
    /// Stands between the two from now on, and takes `of.data` for itself. A message to another member has about
    /// `message_bytes` of entries at most. REQUIRES: raft_init was called, and nothing after it.
    shim(raft& of, raft_io& io, std::size_t message_bytes, raft_index lost_upto = 0);
    ~shim();
    shim(const shim&) = delete;
    shim& operator=(const shim&) = delete;

    /// The newest in the log is not known to be committed.
    [[nodiscard]] bool has_uncommitted_configuration() const noexcept;
    /// After each call that lets C-Raft change something.
    void hide_uncommitted_configuration() noexcept { raft_.configuration_uncommitted_index = 0; }

    /// RFT5 of raft_node.hpp: `callback` when it has again what it owes.
    void on_recovered(std::function<void()> callback) { on_recovered_ = std::move(callback); }
    /// Before raft_init: C-Raft asks for snapshots in two steps, of which the second may take long.
    static void allow_images(raft_io& io) noexcept;
    /// `write` is called when C-Raft waits for an image that was begun (image_writer.hpp), and has it told by `end_image`.
    void write_images_by(std::function<void()> write) { write_image_ = std::move(write); }
    /// The image is whole (0), or has failed.
    void end_image(int status);
    /// C-Raft's number of what went wrong with the disk; 0: nothing.
    [[nodiscard]] int failed() const noexcept { return failed_; }

private:
    /// Up to where this log is the leader's of that term.
    struct verified {
        raft_term term = 0;
        raft_index index = 0;
    };
    struct append_under_way;
    [[nodiscard]] static shim& of(const raft_io* io);
    void receive(raft_io* io, raft_message* m);
    void receive_result(raft_io* io, raft_message* m);
    int send_result(raft_io* io, raft_io_send* request, const raft_message& message, raft_io_send_cb done);
    void pass_over_saved(raft_append_entries& said);
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
    const raft_io under_;  // its functions
    entry_sender sender_;
    raft_io_recv_cb receive_ = nullptr;
    raft_io_tick_cb tick_ = nullptr;
    raft_term last_led_term_ = 0;  // the term that this member has led last
    raft_index first_own_ = 0;     // of that term's entries
    int failed_ = 0;
    verified verified_;
    raft_index compared_ = 0;  // by the message that is being received; 0: none, or it is known what came of it
    std::vector<std::unique_ptr<append_under_way>> untold_;
    raft_index lost_upto_;
    std::function<void()> write_image_;
    raft_io_async_work* image_ = nullptr;  // C-Raft waits for it
    std::function<void()> on_recovered_;
    raft_index next_ = 1;                    // of the entry that is appended next
    std::map<raft_index, std::string> all_;  // encoded; the first is committed
};

}  // namespace tutti::cluster::replica
