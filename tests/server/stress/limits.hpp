// Constants that clients and procedures share.
#pragma once

#include <cstddef>

namespace tutti::stress {

inline constexpr std::size_t most_clients = 64;
inline constexpr std::size_t requests_of_session = 512;

}  // namespace tutti::stress
