#include "cluster/backend/group_caller.hpp"

#include <algorithm>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend::group {

caller::caller(std::vector<std::string> addresses, std::shared_ptr<credentials> secured, std::uint64_t number)
    : secured_{std::move(secured)}, addresses_{std::move(addresses)}, number_{number} {}

std::uint64_t caller::number() const {
    const std::lock_guard hold{guard_};
    return number_;
}

std::string caller::current() const {
    const std::lock_guard hold{guard_};
    return addresses_[current_];
}

void caller::turn_from(const std::string& address) {
    const std::lock_guard hold{guard_};
    if (addresses_[current_] == address) current_ = (current_ + 1) % addresses_.size();
}

bool caller::turn_to(const std::string& address) {
    const std::lock_guard hold{guard_};
    if (addresses_[current_] == address) return false;
    const auto known = std::ranges::find(addresses_, address);
    current_ = static_cast<std::size_t>(known - addresses_.begin());
    if (known == addresses_.end()) addresses_.push_back(address);
    return true;
}

std::unique_ptr<link> caller::take(link::clock::time_point late, std::string& why) {
    const std::string to = current();
    while (std::unique_ptr<link> one = free_.take()) {
        if (one->address() == to && one->sound()) return one;
    }
    std::unique_ptr<link> made =
        link::open(to, number(), std::min(late, link::clock::now() + silence), why, secured_.get());
    if (!made) {
        turn_from(to);
        return nullptr;
    }
    const std::lock_guard hold{guard_};
    if (number_ == 0) number_ = made->group();
    return made;
}

caller::answer caller::ask_by(std::unique_ptr<link>& by, const std::string& request, bool twice,
                              std::chrono::milliseconds patience) {
    tries all{patience};
    std::string why;
    do {
        by = take(all.late(), why);
        if (!by) continue;
        const std::string asked = by->address();
        const bool sent = by->send(request, all.late());
        std::string message;
        if (!sent || !by->receive(message, all.late())) {
            const bool nothing_done = !sent && !by->sent_any();
            by.reset();
            free_.drop_all();
            turn_from(asked);
            why = asked + " has not answered";
            if (twice || nothing_done) continue;
            return {outcome::lost, why};
        }
        std::string_view rest{message};
        outcome said{};
        text_answer words;
        if (!take_head(rest, said) || (said != outcome::done && !wire::decode(rest, words))) {
            why = asked + " answers with bytes that are none";
            by.reset();
            turn_from(asked);
            if (twice) continue;
            return {outcome::lost, why};
        }
        if (said == outcome::done) return {said, std::string{rest}};
        if (said == outcome::refused || (said == outcome::lost && !twice)) return {said, words.text};
        why = said == outcome::lost ? words.text : asked + " does not lead, and knows no leader";
        free_.give_back(std::move(by));
        if (words.text.empty() || !turn_to(words.text)) turn_from(asked);
    } while (all.again());
    return {outcome::elsewhere, why};
}

caller::answer caller::ask(const std::string& request, bool twice, std::chrono::milliseconds patience) {
    std::unique_ptr<link> by;
    answer said = ask_by(by, request, twice, patience);
    if (by) free_.give_back(std::move(by));
    return said;
}

std::unique_ptr<link> caller::follow(const std::string& request, std::chrono::milliseconds patience) {
    std::unique_ptr<link> by;
    if (ask_by(by, request, true, patience).said != outcome::done) return nullptr;
    return by;
}

std::vector<std::string> parse_members(std::string_view where, bool encrypted) {
    std::vector<std::string> all;
    while (!where.empty()) {
        const std::size_t comma = std::min(where.find(','), where.size());
        const std::string one{where.substr(0, comma)};
        where.remove_prefix(std::min(comma + 1, where.size()));
        std::string host;
        int port = 0;
        check_member_address(one, encrypted);
        static_cast<void>(parse_member_address(one, host, port, encrypted));
        all.push_back(host + ":" + std::to_string(port));
    }
    if (all.empty()) {
        throw refusal{
            "the group has no address: give tutti://127.0.0.1:7001,127.0.0.1:7002, and a semicolon between the "
            "addresses of two groups"};
    }
    return all;
}

std::vector<std::vector<std::string>> parse_groups(std::string_view where, bool encrypted) {
    if (where.starts_with("//")) where.remove_prefix(2);
    std::vector<std::vector<std::string>> all;
    for (std::size_t from = 0; from <= where.size();) {
        const std::size_t end = std::min(where.find(';', from), where.size());
        all.push_back(parse_members(where.substr(from, end - from), encrypted));
        from = end + 1;
    }
    return all;
}

bool ask_for_change(const std::vector<std::string>& addresses, std::shared_ptr<credentials> secured,
                    std::uint64_t number, question what, const change_request& change,
                    std::chrono::milliseconds patience, std::string& why) {
    // A change that is made twice is made once: a member is let in once, and goes once.
    caller::answer said = caller{addresses, std::move(secured), number}.ask(frame(what, change), true, patience);
    why = std::move(said.message);
    return said.said == outcome::done;
}

}  // namespace tutti::cluster::backend::group
