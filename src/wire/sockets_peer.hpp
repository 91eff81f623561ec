// One other node, as its connection is read and written.
#pragma once

#include <new>
#include <utility>

#include "wire/sockets.hpp"

namespace tutti::wire {

struct sockets::peer {
    explicit peer(node_number n) : number{n} {}

    const node_number number;
    std::shared_ptr<connection> link;  // set once, by the reading thread, before `open`
    std::atomic<bool> open{false};     // release: whoever sees it sees the link

    // Of the reading thread; others look at the two last.
    std::string input;
    std::atomic<unsigned> silent{0};       // beats since something came
    std::atomic<std::int64_t> lost_at{0};  // milliseconds of the steady clock; 0: it is not

    // What is to be sent; whoever finds nobody sending sends.
    std::mutex guard;
    std::string output;
    bool spoken = false;  // since the last beat
    std::string in_flight;
    std::size_t in_flight_from = 0;
    bool sending = false;
    bool doomed = false;  // it does not read what it asks for

    [[nodiscard]] stream::socket& socket() const noexcept { return link->socket; }
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
