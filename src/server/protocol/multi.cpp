#include "server/protocol/multi.hpp"

#include <algorithm>

namespace tutti::server {

void multi::add(const call_line& line, const invocation& what) {
    std::size_t more = sizeof(invocation::queued_call);
    for (const std::string_view a : line.arguments) more += a.size() + sizeof(std::string);
    if (bytes_ + more > max_bytes_)
        throw bad_argument{"MULTI: the queued calls are longer than max-request, " + std::to_string(max_bytes_) +
                           " bytes"};
    arguments_.insert(arguments_.end(), line.arguments.begin(), line.arguments.end());
    queued_calls_.push_back({line.entry, line.arguments.size()});
    bytes_ += more;
    priority_ = std::max(priority_, what.how.priority);
    due_ = std::min(due_, what.due);
}

invocation multi::as_one_call(const procedure_entry& exec_entry, protocol spoken) const {
    invocation all{.entry = &exec_entry, .how = {}, .spoken = spoken};
    all.how.priority = priority_;
    all.due = due_;
    if (due_ != no_deadline) all.how.deadline = due_;
    all.queued_calls = queued_calls_;
    return all;
}

std::vector<std::string_view> multi::arguments() const { return {arguments_.begin(), arguments_.end()}; }

}  // namespace tutti::server
