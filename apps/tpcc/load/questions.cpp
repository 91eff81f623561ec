#include "tpcc/load/questions.hpp"

#include <hiredis/hiredis.h>
#include <poll.h>

#include "tpcc/driver.hpp"

namespace tpcc::load {
namespace {

constexpr int reply_timeout_ms = 60'000;

template <class Words>
answer question(const address& whom, const Words& words) {
    connection wire{whom.host, whom.port};
    append_request(wire.unsent(), words);
    for (;;) {
        wire.flush();
        if (answer got = wire.next()) {
            if (got->type == REDIS_REPLY_ERROR) throw refused{got->str};
            return got;
        }
        pollfd ready{wire.descriptor(), static_cast<short>(wire.unsent().empty() ? POLLIN : POLLIN | POLLOUT), 0};
        if (::poll(&ready, 1, reply_timeout_ms) == 0)
            throw std::runtime_error{"the server at " + whom.text() + " has not answered for a minute"};
        wire.receive();
    }
}

}  // namespace

answer ask(const address& whom, std::initializer_list<std::string_view> words) { return question(whom, words); }
answer ask(const address& whom, const std::vector<std::string>& words) { return question(whom, words); }

std::vector<long> ask_numbers(const address& whom, std::initializer_list<std::string_view> words,
                              std::size_t how_many) {
    const answer got = ask(whom, words);
    if (got->type != REDIS_REPLY_ARRAY || got->elements != how_many)
        throw std::runtime_error{"the server at " + whom.text() + " does not serve this version of TPC-C"};
    std::vector<long> numbers;
    for (std::size_t i = 0; i < got->elements; ++i) numbers.push_back(static_cast<long>(got->element[i]->integer));
    return numbers;
}

served_scale ask_scale(const address& whom) {
    const std::vector<long> n = ask_numbers(whom, {"CALL", "scale"}, 6);
    const auto number = [&](std::size_t i) { return static_cast<int>(n[i]); };
    served_scale s;
    s.warehouses = number(0);
    s.size.items = number(1);
    s.size.customers_per_district = number(2);
    s.constants.last_name_run = number(3);
    s.constants.customer = number(4);
    s.constants.item = number(5);
    return s;
}

}  // namespace tpcc::load
