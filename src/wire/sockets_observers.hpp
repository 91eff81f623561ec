// Observers who have come over sockets: reads what each asks, and writes what it is told.
//
// Thread safety: none; the thread that runs the sockets owns it.
#pragma once

#include <chrono>
#include <memory>

#include "wire/connection.hpp"
#include "wire/observers.hpp"

namespace tutti::wire {

class sockets_observers {
public:
    sockets_observers(observers& all, std::chrono::milliseconds patience) noexcept : all_{all}, patience_{patience} {}

    /// One that has said hello. REQUIRES: this, and `all`, outlive the context that runs its socket.
    void admit(std::shared_ptr<connection> c);

private:
    struct visit;
    void listen(const std::shared_ptr<visit>& v);
    void answer(const std::shared_ptr<visit>& v);

    observers& all_;
    const std::chrono::milliseconds patience_;
};

}  // namespace tutti::wire
