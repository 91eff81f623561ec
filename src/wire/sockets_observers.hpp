// The observers that have connected over sockets: reads their questions, and writes the answers.
//
// Not thread-safe: the thread that runs the sockets owns it.
#pragma once

#include <chrono>
#include <memory>

#include "wire/connection.hpp"
#include "wire/observers.hpp"

namespace tutti::wire {

class sockets_observers {
public:
    sockets_observers(observers& all, std::chrono::milliseconds patience) noexcept : all_{all}, patience_{patience} {}

    /// Admits an observer that has said hello.
    /// REQUIRES: this object, and `all`, outlive the context that runs its socket.
    void admit(std::shared_ptr<connection> c);

private:
    struct visit;
    void listen(const std::shared_ptr<visit>& v);
    void answer(const std::shared_ptr<visit>& v);

    observers& all_;
    const std::chrono::milliseconds patience_;
};

}  // namespace tutti::wire
