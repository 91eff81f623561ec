// A raft_io without sockets, disks and clocks. The event queue provides time and chance, and the network carries the
// messages.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/replica/disk.hpp"
#include "cluster/replica/event_queue.hpp"
#include "cluster/replica/image_store.hpp"
#include "cluster/replica/skewed_clock.hpp"

namespace tutti::cluster::replica::testing {

/// A message in transit, which owns the data that it points to.
struct parcel {
    raft_message message{};
    std::string from_address;
    std::vector<stored_entry> entries;
    std::vector<stored_server> configuration;
    std::string bytes;
};

class network {
public:
    virtual ~network() = default;
    /// False: the message is lost, and its sender learns that.
    virtual bool send(raft_id from, raft_id to, parcel what) = 0;
};

class simulated_io {
public:
    /// A write takes up to `disk_delay`. `clock` measures all its times and waits.
    simulated_io(event_queue& events, const skewed_clock& clock, network& net, disk& of, raft_id id,
                 instant disk_delay);
    ~simulated_io();
    simulated_io(const simulated_io&) = delete;
    simulated_io& operator=(const simulated_io&) = delete;

    [[nodiscard]] raft_io& io() noexcept { return io_; }
    /// Returns the store of images. A piece takes up to `disk_delay`; fail_images sets the percentage that fails.
    [[nodiscard]] image_store& images() noexcept { return images_; }
    void fail_images(unsigned of_100) { failing_pieces_of_100_ = of_100; }
    /// Delays the write of a message to its connection by up to `most`.
    void delay_writes(instant most) { write_delay_ = most; }
    /// Stops answering pieces until `let_images_go`.
    void hold_images() { holds_images_ = true; }
    void let_images_go();
    [[nodiscard]] std::size_t pieces() const noexcept { return images_.pieces; }
    /// Kills the process. Nothing comes out of it or into it afterwards, except the end of raft_close.
    void kill();
    /// Stops the process until `when`; incoming messages wait.
    void stop_until(instant when) { stopped_until_ = when; }
    [[nodiscard]] instant stopped_until() const noexcept { return stopped_until_; }
    /// Makes the next write fail after a partial effect, and all later writes fail without effect.
    void fail_next_write() { fails_ = true; }
    /// Delivers a message. REQUIRES: the process is neither killed nor stopped.
    void receive(const parcel& what);

private:
    struct operation {
        std::function<void(disk&)> effect;
        std::function<void(disk&, event_queue&)> part;  // its partial effect after a kill; null: all or nothing
        std::function<void(int status)> done;           // null if nothing waits for it
    };
    [[nodiscard]] static simulated_io& of(raft_io* io) { return *static_cast<simulated_io*>(io->impl); }
    class slow_image final : public image_store {
    public:
        explicit slow_image(simulated_io& of) : of_{of} {}
        void put(std::string piece, bool last, stored done) override;
        [[nodiscard]] raft_buffer complete_image() override { return whole_.complete_image(); }
        void drop() noexcept override;
        std::size_t pieces = 0;  // number of pieces that were ever put

    private:
        friend class simulated_io;
        simulated_io& of_;
        memory_image whole_;
        std::uint64_t turn_ = 0;  // number of the current image
        std::function<void()> held_;
    };
    /// Plans an event. It is dropped if this object or its process is gone, and delayed while the process is stopped.
    void plan(instant delay, std::function<void()> what);
    void begin(operation o);
    void work();
    void tick();
    void end();

    static int load(raft_io* io, raft_term* term, raft_id* voted_for, raft_snapshot** snapshot, raft_index* start,
                    raft_entry** entries, size_t* n);
    static int bootstrap(raft_io* io, const raft_configuration* first);
    static int send(raft_io* io, raft_io_send* request, const raft_message* message, raft_io_send_cb done);
    static int append(raft_io* io, raft_io_append* request, const raft_entry* entries, unsigned n,
                      raft_io_append_cb done);
    static int snapshot_put(raft_io* io, unsigned trailing, raft_io_snapshot_put* request,
                            const raft_snapshot* snapshot, raft_io_snapshot_put_cb done);
    static int snapshot_get(raft_io* io, raft_io_snapshot_get* request, raft_io_snapshot_get_cb done);

    raft_io io_{};
    event_queue& events_;
    const skewed_clock& clock_;
    network& network_;
    disk& disk_;
    const raft_id id_;
    std::string address_;
    const instant disk_delay_;
    instant write_delay_ = 0;
    std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);  // false after the destructor; events check it
    bool killed_ = false;
    instant stopped_until_ = 0;
    unsigned tick_ms_ = 0;
    raft_io_tick_cb ticks_ = nullptr;
    raft_io_recv_cb receives_ = nullptr;
    raft_io_close_cb closed_ = nullptr;
    std::deque<operation> operations_;
    std::deque<std::function<void(int status)>> waiting_;  // for answers that need no disk
    slow_image images_{*this};
    unsigned failing_pieces_of_100_ = 0;
    bool holds_images_ = false;
    bool works_ = false;
    bool fails_ = false, failed_ = false;
};

}  // namespace tutti::cluster::replica::testing
