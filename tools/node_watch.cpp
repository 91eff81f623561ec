#include "node_watch.hpp"

#include <fmt/format.h>

namespace tutti::tools {

void node_watch::look() {
    for (unsigned n = 0; n < of_.nodes(); ++n) {
        if (told_[n] || !of_.lost(n)) continue;
        told_[n] = true;
        operators_.say(server::severity::error,
                       fmt::format("node {} ({}) is lost: its objects are gone with it, and it cannot come back; end "
                                   "all nodes, and start the cluster anew",
                                   n, how_.addresses[n]));
    }
}

}  // namespace tutti::tools
