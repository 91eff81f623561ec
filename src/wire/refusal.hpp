// What an address, a certificate or a connection is refused for.
#pragma once

#include <stdexcept>

namespace tutti::wire {

/// The message says what to do.
class refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace tutti::wire
