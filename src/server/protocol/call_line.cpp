#include "server/protocol/call_line.hpp"

#include "server/calls/words.hpp"
#include "server/protocol/numbers.hpp"

namespace tutti::server {
namespace {

using words = std::span<const std::string_view>;

template <class T>
void set_once(std::optional<T>& option, std::string_view name, T value) {
    if (option) throw bad_argument{std::string{name} + " is given twice"};
    option = value;
}

bool read_id(words& from, call_line& into) {
    if (from.empty() || !equals_ignoring_case(from[0], word_id)) return false;
    require_key(from.size() == 1 ? std::string_view{} : from[1]);
    set_once(into.id, word_id, from[1]);
    from = from.subspan(2);
    return true;
}

/// Reads an option at the front of `from`, and removes it from `from`. Returns false if there is no option.
bool read_option(words& from, call_line& into) {
    if (from.empty()) return false;
    const bool is_priority = equals_ignoring_case(from[0], word_priority);
    if (!is_priority && !equals_ignoring_case(from[0], word_deadline)) return false;
    const std::string_view name = is_priority ? word_priority : word_deadline;
    if (from.size() == 1) throw bad_argument{std::string{name} + " needs a value"};
    if (is_priority) set_once(into.priority, name, number<int>(name, from[1]));
    else set_once(into.deadline, name, std::chrono::microseconds{number<std::int64_t>(name, from[1])});
    from = from.subspan(2);
    return true;
}

void check(const call_line& l) {
    const procedure_options& allowed = l.entry->definition.options;
    const std::string& name = l.entry->definition.name;
    if (l.priority.value_or(0) > allowed.max_client_priority && *l.priority <= highest_priority) {
        throw bad_argument{name + ": clients may set a PRIORITY from 0 to " +
                           std::to_string(allowed.max_client_priority)};
    }
    if (l.deadline && !allowed.clients_set_deadline) throw bad_argument{name + ": clients may not set a DEADLINE"};
}

}  // namespace

void require_key(std::string_view given) {
    if (given.empty() || given.size() > 128) throw bad_argument{"ID needs a key of 1 to 128 bytes"};
}

call_line read_call(words given, const catalog& procedures, const procedure_entry* likely) {
    call_line l;
    while (read_option(given, l) || read_id(given, l)) {}
    if (!given.empty() && given[0] == word_end_of_options) given = given.subspan(1);
    if (given.empty()) throw bad_argument{"wrong number of arguments for 'call' command: the procedure is missing"};
    l.entry = likely != nullptr && likely->definition.name == given[0] ? likely : procedures.find(given[0]);
    if (l.entry == nullptr) throw unknown_procedure_error{given[0]};
    l.arguments = given.subspan(1);
    const procedure& p = l.entry->definition;
    if (p.min_arguments == p.max_arguments && l.arguments.size() > p.max_arguments) {
        words behind = l.arguments.subspan(p.max_arguments);
        while (read_option(behind, l)) {}
        // If words are left, they are excess arguments, and the caller reports an error.
        if (behind.empty()) l.arguments = l.arguments.first(p.max_arguments);
    }
    check(l);
    return l;
}

}  // namespace tutti::server
