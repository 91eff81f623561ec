// The exception for a refused address, certificate or connection.
#pragma once

#include <stdexcept>

namespace tutti::wire {

/// The message of the exception says what the user can do.
class wire_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace tutti::wire
