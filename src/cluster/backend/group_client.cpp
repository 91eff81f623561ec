#include "cluster/backend/group_client.hpp"

#include <algorithm>
#include <condition_variable>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend::group {

namespace {

constexpr std::chrono::milliseconds learn_interval{1000};
constexpr std::chrono::milliseconds learn_retry_interval{200};  // the interval between tries while no leader answers

}  // namespace

group_client::group_client(std::vector<std::string> addresses, std::shared_ptr<credentials> secured,
                           std::uint64_t number)
    : secured_{std::move(secured)}, addresses_{std::move(addresses)}, number_{number}, given_{addresses_} {}

group_client::~group_client() = default;

std::uint64_t group_client::number() const {
    const std::lock_guard hold{guard_};
    return number_;
}

std::string group_client::current_address() const {
    const std::lock_guard hold{guard_};
    return addresses_[current_];
}

void group_client::switch_from(const std::string& address) {
    const std::lock_guard hold{guard_};
    if (addresses_[current_] == address) current_ = (current_ + 1) % addresses_.size();
}

bool group_client::switch_to(const std::string& address) {
    const std::lock_guard hold{guard_};
    if (addresses_[current_] == address) return false;
    const auto known = std::ranges::find(addresses_, address);
    current_ = static_cast<std::size_t>(known - addresses_.begin());
    if (known == addresses_.end()) addresses_.push_back(address);
    return true;
}

std::unique_ptr<member_connection> group_client::acquire_connection(member_connection::clock::time_point deadline,
                                                                    std::string& reason) {
    const std::string to = current_address();
    while (std::unique_ptr<member_connection> one = pool_.acquire()) {
        if (one->address() == to && one->is_usable()) return one;
    }
    std::unique_ptr<member_connection> made = member_connection::open(
        to, number(), std::min(deadline, member_connection::clock::now() + silence_timeout), reason, secured_.get());
    if (!made) {
        switch_from(to);
        return nullptr;
    }
    const std::lock_guard hold{guard_};
    if (number_ == 0) number_ = made->group();
    return made;
}

void group_client::send(pending_request& q) {
    q.connection_ = acquire_connection(q.timer_.deadline(), q.reason_);
    q.sent_ = q.connection_ && q.connection_->send(q.request_, q.timer_.deadline());
}

std::optional<group_client::reply> group_client::receive(pending_request& q) {
    if (!q.connection_) return std::nullopt;
    const std::string asked = q.connection_->address();
    std::string message;
    if (!q.sent_ || !q.connection_->receive(message, q.timer_.deadline())) {
        const bool nothing_done = !q.sent_ && !q.connection_->has_sent();
        q.connection_.reset();
        pool_.close_all();
        switch_from(asked);
        q.reason_ = asked + " has not answered";
        if (q.may_repeat_ || nothing_done) return std::nullopt;
        return reply{reply_status::lost, q.reason_};
    }
    std::string_view rest{message};
    reply_status status{};
    text_reply words;
    if (!take_head(rest, status) || (status != reply_status::done && !wire::decode(rest, words))) {
        q.reason_ = asked + " has sent an invalid answer";
        q.connection_.reset();
        switch_from(asked);
        if (q.may_repeat_) return std::nullopt;
        return reply{reply_status::lost, q.reason_};
    }
    if (status == reply_status::done) return reply{status, std::string{rest}};
    if (status == reply_status::refused || (status == reply_status::lost && !q.may_repeat_))
        return reply{status, words.text};
    q.reason_ = status == reply_status::lost ? words.text : asked + " is not the leader, and knows no leader";
    pool_.release(std::move(q.connection_));
    if (words.text.empty() || !switch_to(words.text)) switch_from(asked);
    return std::nullopt;
}

group_client::reply group_client::complete(pending_request& q) {
    while (true) {
        if (std::optional<reply> received = receive(q)) return *std::move(received);
        if (!q.timer_.wait()) return {reply_status::not_leader, q.reason_};
        send(q);
    }
}

std::shared_ptr<group_client::pending_request> group_client::begin(std::string request, bool may_repeat,
                                                                   std::chrono::milliseconds timeout) {
    const std::shared_ptr<pending_request> q{new pending_request{std::move(request), may_repeat, timeout}};
    send(*q);
    return q;
}

group_client::reply group_client::end(pending_request& q) {
    reply reply = complete(q);
    if (q.connection_) pool_.release(std::move(q.connection_));
    return reply;
}

group_client::reply group_client::ask(std::string request, bool may_repeat, std::chrono::milliseconds timeout) {
    return end(*begin(std::move(request), may_repeat, timeout));
}

std::unique_ptr<member_connection> group_client::open_stream(const std::string& request,
                                                             std::chrono::milliseconds timeout) {
    const std::shared_ptr<pending_request> q = begin(request, true, timeout);
    if (complete(*q).status != reply_status::done) return nullptr;
    return std::move(q->connection_);
}

void group_client::keep_learning_members() {
    static_cast<void>(learn_members());
    learner_ = std::jthread{[this](const std::stop_token& over) {
        std::mutex guard;
        std::condition_variable_any ended;
        std::unique_lock hold{guard};
        std::chrono::milliseconds pause = learn_interval;
        while (!ended.wait_for(hold, over, pause, [&] { return over.stop_requested(); })) {
            pause = learn_interval;
            try {
                if (!learn_members()) pause = learn_retry_interval;
                std::vector<std::string> now = members();
                const std::lock_guard telling{callback_guard_};
                if (!callback_ || now == reported_members_) continue;
                reported_members_ = std::move(now);
                callback_();
            } catch (const std::exception&) {  // no memory, or the group rejects the request: the next turn tries again
            }
        }
    }};
}

std::vector<std::string> group_client::members() const {
    const std::lock_guard hold{guard_};
    return learned_;
}

void group_client::on_members_changed(std::function<void()> callback) {
    const std::lock_guard hold{callback_guard_};
    callback_ = std::move(callback);
    reported_members_.clear();
}

bool group_client::learn_members() {
    const member_connection::clock::time_point deadline = member_connection::clock::now() + silence_timeout;
    std::string reason, message;
    std::unique_ptr<member_connection> by = acquire_connection(deadline, reason);
    if (!by || !by->send(frame(request_kind::status, empty_body{}), deadline) || !by->receive(message, deadline))
        return false;
    std::string_view rest{message};
    reply_status status{};
    status_reply all;
    if (!take_head(rest, status) || status != reply_status::done || !wire::decode(rest, all)) return false;
    const std::string asked = by->address();
    pool_.release(std::move(by));
    if (all.address != asked && is_numeric(all.address) && is_numeric(asked)) return true;  // GCL2
    const bool accepted = accept_members(all);
    if (all.leader == all.address) return accepted;
    if (all.leader.empty() || !switch_to(all.leader)) switch_from(asked);
    return false;
}

bool group_client::accept_members(const status_reply& status) {
    std::vector<std::string> listed;
    for (const listed_member& m : status.members) {
        std::string host;
        int port = 0;
        if (parse_member_address(m.address, host, port, secured_ != nullptr)) listed.push_back(m.address);
    }
    const std::lock_guard hold{guard_};
    if (listed.empty() || status.applied_index < learned_at_) return false;  // GCL1
    learned_at_ = status.applied_index;
    if (listed == learned_) return true;
    const std::string current = addresses_[current_];
    learned_ = listed;
    addresses_ = std::move(listed);
    for (const std::string& a : given_) {
        if (std::ranges::find(addresses_, a) == addresses_.end()) addresses_.push_back(a);  // GCL3
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
        all.push_back(normalized_address(one));
    }
    if (all.empty()) {
        throw engine_error{
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

bool request_member_change(const std::vector<std::string>& addresses, std::shared_ptr<credentials> secured,
                           std::uint64_t number, request_kind what, const change_request& change,
                           std::chrono::milliseconds timeout, std::string& reason) {
    // The request may be sent twice: a member is added only once, and removed only once.
    group_client::reply reply =
        group_client{addresses, std::move(secured), number}.ask(frame(what, change), true, timeout);
    reason = std::move(reply.message);
    return reply.status == reply_status::done;
}

}  // namespace tutti::cluster::backend::group
