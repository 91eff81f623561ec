// What a server is doing, as Prometheus reads it.
#pragma once

#include <string>
#include <string_view>

#include "server/metrics/snapshot.hpp"

namespace tutti::server {

/// The type of what follows, in HTTP.
inline constexpr std::string_view prometheus_text = "text/plain; version=0.0.4; charset=utf-8";

[[nodiscard]] std::string to_prometheus(const snapshot& s);

}  // namespace tutti::server
