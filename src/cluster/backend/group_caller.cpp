#include "cluster/backend/group_caller.hpp"

#include <algorithm>
#include <condition_variable>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend::group {

namespace {

constexpr std::chrono::milliseconds learn_again_after{1000};
constexpr std::chrono::milliseconds learn_again_soon{200};  // if no leader has answered

}  // namespace

caller::caller(std::vector<std::string> addresses, std::shared_ptr<credentials> secured, std::uint64_t number)
    : secured_{std::move(secured)}, addresses_{std::move(addresses)}, number_{number}, given_{addresses_} {}

caller::~caller() = default;

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

void caller::send(question_under_way& q) {
    q.by_ = take(q.all_.late(), q.why_);
    q.sent_ = q.by_ && q.by_->send(q.request_, q.all_.late());
}

std::optional<caller::answer> caller::hear(question_under_way& q) {
    if (!q.by_) return std::nullopt;
    const std::string asked = q.by_->address();
    std::string message;
    if (!q.sent_ || !q.by_->receive(message, q.all_.late())) {
        const bool nothing_done = !q.sent_ && !q.by_->sent_any();
        q.by_.reset();
        free_.drop_all();
        turn_from(asked);
        q.why_ = asked + " has not answered";
        if (q.twice_ || nothing_done) return std::nullopt;
        return answer{outcome::lost, q.why_};
    }
    std::string_view rest{message};
    outcome said{};
    text_answer words;
    if (!take_head(rest, said) || (said != outcome::done && !wire::decode(rest, words))) {
        q.why_ = asked + " answers with bytes that are none";
        q.by_.reset();
        turn_from(asked);
        if (q.twice_) return std::nullopt;
        return answer{outcome::lost, q.why_};
    }
    if (said == outcome::done) return answer{said, std::string{rest}};
    if (said == outcome::refused || (said == outcome::lost && !q.twice_)) return answer{said, words.text};
    q.why_ = said == outcome::lost ? words.text : asked + " does not lead, and knows no leader";
    free_.give_back(std::move(q.by_));
    if (words.text.empty() || !turn_to(words.text)) turn_from(asked);
    return std::nullopt;
}

caller::answer caller::settle(question_under_way& q) {
    while (true) {
        if (std::optional<answer> said = hear(q)) return *std::move(said);
        if (!q.all_.again()) return {outcome::elsewhere, q.why_};
        send(q);
    }
}

std::shared_ptr<caller::question_under_way> caller::begin(std::string request, bool twice,
                                                          std::chrono::milliseconds patience) {
    const std::shared_ptr<question_under_way> q{new question_under_way{std::move(request), twice, patience}};
    send(*q);
    return q;
}

caller::answer caller::end(question_under_way& q) {
    answer said = settle(q);
    if (q.by_) free_.give_back(std::move(q.by_));
    return said;
}

caller::answer caller::ask(std::string request, bool twice, std::chrono::milliseconds patience) {
    return end(*begin(std::move(request), twice, patience));
}

std::unique_ptr<link> caller::follow(const std::string& request, std::chrono::milliseconds patience) {
    const std::shared_ptr<question_under_way> q = begin(request, true, patience);
    if (settle(*q).said != outcome::done) return nullptr;
    return std::move(q->by_);
}

void caller::keep_learning() {
    static_cast<void>(learn());
    learner_ = std::jthread{[this](const std::stop_token& over) {
        std::mutex guard;
        std::condition_variable_any ended;
        std::unique_lock hold{guard};
        std::chrono::milliseconds pause = learn_again_after;
        while (!ended.wait_for(hold, over, pause, [&] { return over.stop_requested(); })) {
            pause = learn_again_after;
            try {
                if (!learn()) pause = learn_again_soon;
                std::vector<std::string> now = members();
                const std::lock_guard telling{telling_};
                if (!told_ || now == told_of_) continue;
                told_of_ = std::move(now);
                told_();
            } catch (const std::exception&) {  // no memory, or a group that refuses: the next turn tries again
            }
        }
    }};
}

std::vector<std::string> caller::members() const {
    const std::lock_guard hold{guard_};
    return learned_;
}

void caller::on_new_members(std::function<void()> told) {
    const std::lock_guard hold{telling_};
    told_ = std::move(told);
    told_of_.clear();
}

bool caller::learn() {
    const link::clock::time_point late = link::clock::now() + silence;
    std::string why, message;
    std::unique_ptr<link> by = take(late, why);
    if (!by || !by->send(frame(question::status, nothing{}), late) || !by->receive(message, late)) return false;
    std::string_view rest{message};
    outcome said{};
    status_answer all;
    if (!take_head(rest, said) || said != outcome::done || !wire::decode(rest, all)) return false;
    const std::string asked = by->address();
    free_.give_back(std::move(by));
    if (all.address != asked && is_number(all.address) && is_number(asked)) return true;  // D2
    const bool adopted = adopt(all);
    if (all.leader == all.address) return adopted;
    if (all.leader.empty() || !turn_to(all.leader)) turn_from(asked);
    return false;
}

bool caller::adopt(const status_answer& said) {
    std::vector<std::string> listed;
    for (const listed_member& m : said.members) {
        std::string host;
        int port = 0;
        if (parse_member_address(m.address, host, port, secured_ != nullptr)) listed.push_back(m.address);
    }
    const std::lock_guard hold{guard_};
    if (listed.empty() || said.applied_index < learned_at_) return false;  // D1
    learned_at_ = said.applied_index;
    if (listed == learned_) return true;
    const std::string current = addresses_[current_];
    learned_ = listed;
    addresses_ = std::move(listed);
    for (const std::string& a : given_) {
        if (std::ranges::find(addresses_, a) == addresses_.end()) addresses_.push_back(a);  // D3
    }
    const auto still = std::ranges::find(addresses_, current);
    current_ = static_cast<std::size_t>(still - addresses_.begin());
    if (still == addresses_.end()) addresses_.push_back(current);
    return true;
}

std::vector<std::string> parse_members(std::string_view where, bool encrypted) {
    std::vector<std::string> all;
    while (!where.empty()) {
        const std::size_t comma = std::min(where.find(','), where.size());
        const std::string one{where.substr(0, comma)};
        where.remove_prefix(std::min(comma + 1, where.size()));
        check_member_address(one, encrypted);
        all.push_back(plain_address(one));
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
    // The request may be sent twice: a member is added only once, and removed only once.
    caller::answer said = caller{addresses, std::move(secured), number}.ask(frame(what, change), true, patience);
    why = std::move(said.message);
    return said.said == outcome::done;
}

}  // namespace tutti::cluster::backend::group
