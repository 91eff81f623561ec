// What every transport between processes does alike: frames from and to each other node, the answers to what arrived in
// one read sent together, who has said nothing for how long, who has come and why others have not.
//
// One thread reads, and calls the handler; any thread sends. How bytes move is the transport's: see `flush`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "observe/counter.hpp"
#include "wire/observers.hpp"
#include "wire/transport.hpp"

namespace tutti::wire {

class correspondence : public transport {
public:
    bool send(node_number to, header h, std::string_view body) final;
    void describe(cluster::node_facts& to) const final;
    [[nodiscard]] bool others_have_begun() const final;
    [[nodiscard]] bool has_begun(node_number n) const final;
    void begin() final { begun_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t process_of(node_number n) const final;

protected:
    /// One process of another node; each transport adds its connection.
    struct peer : std::enable_shared_from_this<peer> {
        peer(node_number n, std::mutex& of_node) : number{n}, guard{of_node} {}
        virtual ~peer() = default;
        peer(const peer&) = delete;
        peer& operator=(const peer&) = delete;

        const node_number number;
        std::uint64_t process = 0;      // that it says it is; set as the connection
        bool begun = false;             // when it came; the same
        std::atomic<bool> open{false};  // release: a thread that finds it true finds the connection made

        // Of the reading thread; others look at the two last.
        std::string input;
        std::atomic<unsigned> silent{0};       // beats since something came
        std::atomic<std::int64_t> lost_at{0};  // milliseconds of the steady clock; 0: it is not

        // What is to be sent.
        std::mutex& guard;  // of its node
        std::string output;
        bool spoken = false;  // since the last beat
        bool doomed = false;  // it does not read what it asks for
    };
    /// The latest of each node. A former one ends with the last share of it, which no thread can get any more: those
    /// that were about to send to it have one, and so has what is still to run on the reading thread. That thread alone
    /// puts another one there, so what it finds there stays until then without a share.
    class peers {
    public:
        explicit peers(std::size_t nodes) : now_(nodes) {}
        [[nodiscard]] std::size_t size() const noexcept { return now_.size(); }
        /// For other threads.
        [[nodiscard]] std::shared_ptr<peer> share(std::size_t n) const {
            const std::lock_guard hold{now_[n].guard};
            return now_[n].latest;
        }
        /// The same. REQUIRES: the lock.
        [[nodiscard]] const std::shared_ptr<peer>& latest(std::size_t n) const noexcept { return now_[n].latest; }
        [[nodiscard]] std::mutex& guard(std::size_t n) const noexcept { return now_[n].guard; }
        /// For the reading thread, or where there is none.
        [[nodiscard]] peer* operator[](std::size_t n) const noexcept { return now_[n].latest.get(); }
        /// In the place of what was there. The same.
        template <class Peer>
        Peer& put(node_number n) {
            const auto fresh = std::make_shared<Peer>(n, now_[n].guard);
            std::shared_ptr<peer> before = fresh;  // ends without the lock
            const std::lock_guard hold{now_[n].guard};
            std::swap(now_[n].latest, before);
            return *fresh;
        }
        /// REQUIRES: there is no other thread.
        void clear() noexcept {
            for (node& n : now_) n.latest.reset();
        }

        struct iterator {
            const peers* in;
            std::size_t at;
            [[nodiscard]] peer* operator*() const noexcept { return (*in)[at]; }
            iterator& operator++() noexcept {
                ++at;
                return *this;
            }
            [[nodiscard]] bool operator==(const iterator& other) const noexcept { return at == other.at; }
        };
        [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }
        [[nodiscard]] iterator end() const noexcept { return {this, now_.size()}; }

    private:
        struct node {
            mutable std::mutex guard;
            std::shared_ptr<peer> latest;
        };
        std::vector<node> now_;
    };

    correspondence(const transport_options& how, std::vector<address> addresses, handler& to);

    // ---- what each transport does in its own way

    /// Sends what is in `output`, as far as it goes now; the rest follows. REQUIRES: p.guard is not held.
    virtual void flush(peer& p) = 0;
    /// Has the reading thread call end(p). Any thread, which may hold p.guard.
    virtual void end_soon(peer& p) = 0;
    /// Nothing more comes from it, or goes to it. The reading thread calls it, once.
    virtual void hang_up(peer& p) noexcept = 0;

    // ---- of the reading thread

    /// Something has come from it, which stands in `input` by now. False: it is no frame.
    [[nodiscard]] bool serve(peer& p);
    /// Each beat.
    void beat_all();
    void end(peer& p);

    // ---- joining

    /// Throws refusal: nobody can reach this node at its own address.
    [[noreturn]] void refuse_to_listen(int error, const std::string& in_words) const;
    /// The hello that this node says, to whoever it is.
    [[nodiscard]] std::string own_hello(std::uint64_t beside = 0);
    /// Whether a hello of our version is one of this cluster, and of whom it should be of: of `called`, or where that
    /// is no node's number of one that `may_call`. What is wrong is complained of.
    [[nodiscard]] bool fits(const header& got, const hello& said, node_number called, bool may_call);
    void complain_of_version(const header& got);
    /// Ends the joining.
    void complain(std::string what);
    /// What a stranger did, which must not keep the nodes from joining: said if they do not.
    void note(std::string what);
    void come(peer& p, const header& hello);
    [[nodiscard]] bool has_begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_node(node_number n) const noexcept { return n < peers_.size(); }
    /// In messages.
    [[nodiscard]] std::string name_of(node_number n) const;
    /// Throws refusal where not all come, or something is complained of.
    void await_all();

    const transport_options how_;
    handler& handler_;
    const std::vector<address> addresses_;
    observers observers_;
    peers peers_;
    std::atomic<std::uint64_t> system_calls_{0};
    observe::counter received_bytes_;  // of the reading thread
    std::atomic<bool> closing_{false};
    [[nodiscard]] std::chrono::milliseconds beat_length() const noexcept;

private:
    bool cut(peer& p);
    [[nodiscard]] bool all_have_come() const;

    std::atomic<std::uint64_t> frames_{0}, bytes_{0};
    observe::counter received_frames_;

    const std::uint64_t process_;
    std::atomic<bool> begun_{false};
    mutable std::mutex joining_;  // of what is below
    std::string trouble_;
    std::string noted_;         // of the last stranger
    std::vector<bool> joined_;  // by number: has come
    bool others_begun_ = false;
    std::condition_variable changed_;
};

/// What `f` says of a peer's frames. Where memory runs out, what was asked may be half done, and the peer must take it
/// neither for done nor for undone: false, which ends the connection.
template <class F>
[[nodiscard]] bool with_memory(F&& f) noexcept {
    try {
        return std::forward<F>(f)();
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace tutti::wire
