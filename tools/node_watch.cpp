#include "node_watch.hpp"

#include <fmt/format.h>

namespace tutti::tools {

void node_watch::look() {
    for (unsigned n = 0; n < of_.nodes(); ++n) {
        const bool lost = of_.lost(n);
        if (told_[n] == lost) continue;
        told_[n] = lost;
        const std::string who = fmt::format("node {} ({})", n, how_.addresses[n]);
        if (lost)
            operators_.say(
                server::severity::error,
                who + " is lost: its objects are gone with it; start it again, and it comes back without them");
        else operators_.say(server::severity::info, who + " is back, without what it had owned");
    }
}

}  // namespace tutti::tools
