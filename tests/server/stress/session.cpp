#include "server/stress/session.hpp"

#include "server/stress/limits.hpp"

namespace tutti::stress {
namespace {

using server::bare_socket;
using server::wire;

constexpr std::size_t longest_burst = 64;
constexpr std::size_t most_silent = 16;

}  // namespace

stress_client::stress_client(std::uint16_t port, std::size_t number, std::uint64_t seed, account& all)
    : port_{port}, number_{number}, dice_{seed + number}, all_{all}, control_{port} {}

long stress_client::ask(const std::vector<std::string>& words) {
    for (;;) {
        const std::string answer = control_(words);
        if (answer.starts_with("-BUSY")) continue;
        if (answer == "OK") return 0;
        if (answer.empty() || answer.find_first_not_of("0123456789") != std::string::npos)
            violated(words[1] + " was answered by " + answer);
        return std::stol(answer);
    }
}

std::string stress_client::requests(std::size_t count) {
    std::string all;
    for (; count != 0 && (next_ < requests_of_session || !to_send_again_.empty()); --count) {
        std::size_t number = next_;
        if (!to_send_again_.empty()) {
            number = to_send_again_.front();
            to_send_again_.pop_front();
        } else {
            ++next_;
        }
        in_progress_.push_back(number);
        const std::size_t work = dice_.one_in(50) ? 100'000 : dice_.below(200);
        std::vector<std::string> words{"CALL"};
        if (!dice_.one_in(4)) words.insert(words.end(), {"PRIORITY", std::to_string(dice_.below(31))});
        if (dice_.one_in(8)) words.insert(words.end(), {"DEADLINE", "1000000"});
        words.insert(words.end(), {"sign", std::to_string(number_), std::to_string(session_), std::to_string(number),
                                   std::to_string(work)});
        all += wire(words);
    }
    return all;
}

/// Receives answers, at least one line.
void stress_client::take_answers(bare_socket& from) {
    const std::string fresh = from.receive_lines(1);
    if (fresh.empty()) violated("the server closed a connection that had answers to come");
    text_ += fresh;
    std::size_t begin = 0;
    for (std::size_t end; (end = text_.find("\r\n", begin)) != std::string::npos; begin = end + 2) {
        const std::string_view line = std::string_view{text_}.substr(begin, end - begin);
        if (in_progress_.empty()) violated("an answer too many: " + std::string{line});
        const std::size_t number = in_progress_.front();
        in_progress_.pop_front();
        if (line.starts_with("-BUSY")) {
            to_send_again_.push_back(number);
            ++all_.refused;
        } else if (line == ":" + std::to_string(number)) {
            ++done_;
            ++all_.answered;
        } else {
            violated("request " + std::to_string(number) + " was answered by " + std::string{line});
        }
    }
    text_.erase(0, begin);
}

void stress_client::check_done() {
    const long there = ask({"CALL", "signed", std::to_string(number_)});
    if (there != static_cast<long>(done_))
        violated(std::to_string(done_) + " requests were confirmed, and " + std::to_string(there) + " were done");
}

void stress_client::leave_unread(std::unique_ptr<bare_socket> talk) {
    silent_.push_back(std::move(talk));
    if (silent_.size() > most_silent) silent_.pop_front();
}

void stress_client::attack() {
    ++all_.sessions;
    ++session_;
    next_ = done_ = 0;
    to_send_again_.clear();
    in_progress_.clear();
    text_.clear();
    ask({"CALL", "begin", std::to_string(number_), std::to_string(session_)});

    constexpr fate fates[] = {fate::orderly, fate::orderly, fate::orderly, fate::half_closed,
                              fate::reset,   fate::reset,   fate::silent,  fate::babbling};
    const fate how = fates[dice_.below(std::size(fates))];
    const bool stays = how == fate::orderly || how == fate::half_closed;
    const std::size_t enough = stays ? requests_of_session : dice_.below(requests_of_session);
    auto talk = std::make_unique<bare_socket>(port_);
    while (done_ < enough) {
        const std::string some = in_progress_.size() < longest_burst ? requests(1 + dice_.below(longest_burst)) : "";
        if (!some.empty() && !talk->send(some)) violated("the server closed a connection that asks for nothing wrong");
        if (how == fate::half_closed && next_ == requests_of_session && to_send_again_.empty() && dice_.one_in(2))
            break;
        if (!in_progress_.empty()) take_answers(*talk);
    }
    switch (how) {
        case fate::orderly: return check_done();
        case fate::half_closed:
            // The server answers everything that it has received, and then closes its half.
            talk->half_close();
            while (!in_progress_.empty()) take_answers(*talk);
            if (!talk->receive_all().empty()) violated("an answer too many after the last one");
            return check_done();
        case fate::reset:
            ++all_.killed;
            static_cast<void>(talk->send(requests(longest_burst) + "*2\r\n$4\r\nCA"));
            return talk->reset();
        case fate::silent:
            ++all_.killed;
            static_cast<void>(talk->send_some(requests(longest_burst)));
            for (int i = 0; i < 60; ++i) static_cast<void>(talk->send_some(wire({"CALL", "large", "100000"})));
            return leave_unread(std::move(talk));
        case fate::babbling:
            ++all_.killed;
            static_cast<void>(talk->send(requests(longest_burst) + "*1\r\n$x\r\n"));
            while (!talk->receive_lines(1).empty()) {}
            return;
    }
}

}  // namespace tutti::stress
