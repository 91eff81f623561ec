#include "peer_monitor.hpp"

#include <fmt/format.h>

namespace tutti::tools {

void peer_monitor::report_changes() {
    for (unsigned n = 0; n < of_.nodes(); ++n) {
        const bool lost = of_.lost(n);
        if (reported_lost_[n] == lost) continue;
        reported_lost_[n] = lost;
        const std::string who = fmt::format("node {} ({})", n, how_.addresses[n]);
        if (lost)
            log_.write(server::severity::error,
                       who + " is lost, and its objects with it: start it again, and it rejoins without them");
        else log_.write(server::severity::info, who + " is back, without the objects that it owned");
    }
}

}  // namespace tutti::tools
