#include "server/protocol/multi.hpp"

#include <algorithm>

namespace tutti::server {

void multi::add(const call_line& line, const invocation& what) {
    std::size_t more = sizeof(invocation::part);
    for (const std::string_view a : line.arguments) more += a.size() + sizeof(std::string);
    if (bytes_ + more > most_bytes_)
        throw bad_argument{"MULTI: all calls together may be as long as one request, " + std::to_string(most_bytes_)};
    arguments_.insert(arguments_.end(), line.arguments.begin(), line.arguments.end());
    parts_.push_back({line.which, line.arguments.size()});
    bytes_ += more;
    priority_ = std::max(priority_, what.how.priority);
    due_ = std::min(due_, what.due);
}

invocation multi::whole(const entry& together, protocol spoken) const {
    invocation all{.which = &together, .how = {}, .spoken = spoken};
    all.how.priority = priority_;
    all.due = due_;
    if (due_ != no_deadline) all.how.deadline = due_;
    all.parts = parts_;
    return all;
}

std::vector<std::string_view> multi::arguments() const { return {arguments_.begin(), arguments_.end()}; }

}  // namespace tutti::server
