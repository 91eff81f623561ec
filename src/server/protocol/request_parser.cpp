#include "server/protocol/request_parser.hpp"

#include <charconv>

namespace tutti::server {
namespace {

/// The maximum length of a line that contains the character of a type, a number, and the end of line.
constexpr std::size_t max_number_line = 32;

}  // namespace

request_parser::parse_result request_parser::fail(std::string why) {
    error_ = std::move(why);
    return parse_result::malformed;
}

void request_parser::restart() noexcept {
    at_ = searched_ = missing_words_ = 0;
    word_size_ = -1;
    word_ranges_.clear();
    words_.clear();
}

request_parser::parse_result request_parser::finish(std::string_view input) {
    for (const word_range& p : word_ranges_) words_.push_back(input.substr(p.at, p.size));
    return parse_result::complete;
}

request_parser::parse_result request_parser::parse(std::string_view input, const request_limits& limits) {
    if (input.empty()) return parse_result::incomplete;
    return input.front() == '*' ? parse_array(input, limits) : parse_line(input, limits);
}

request_parser::parse_result request_parser::parse_line(std::string_view input, const request_limits& limits) {
    // A control character shows that the client speaks another protocol, such as TLS. An attacker may control the bytes
    // of that protocol, including the ends of lines, so the server must not interpret them.
    const auto first = static_cast<unsigned char>(input.front());
    if (first < ' ' && first != '\t' && first != '\r' && first != '\n')
        return fail("an inline request begins with a control character; does the client use TLS?");
    const std::size_t end = input.find('\n', searched_);
    if (end == std::string_view::npos ? input.size() > limits.bytes : end > limits.bytes)
        return fail("too big inline request, longer than " + std::to_string(limits.bytes) + " bytes");
    if (end == std::string_view::npos) {
        searched_ = input.size();
        return parse_result::incomplete;
    }
    const std::string_view line = input.substr(0, end);
    constexpr std::string_view blanks = " \t\r";
    for (std::size_t from = line.find_first_not_of(blanks); from != std::string_view::npos;) {
        const std::size_t to = std::min(line.find_first_of(blanks, from), line.size());
        if (word_ranges_.size() == limits.arguments)
            return fail("too many words in an inline request, more than " + std::to_string(limits.arguments));
        word_ranges_.push_back({from, to - from});
        from = line.find_first_not_of(blanks, to);
    }
    at_ = end + 1;
    return finish(input);
}

request_parser::parse_result request_parser::parse_number(std::string_view input, char type, std::int64_t& number) {
    if (input.size() == at_) return parse_result::incomplete;
    if (input[at_] != type) return fail(std::string{"expected '"} + type + "' at the start of a word");
    // Handles the most common cases, one or two digits, without a loop.
    const std::string_view rest = input.substr(at_, max_number_line);
    const auto digit = [&rest](std::size_t at) { return static_cast<unsigned>(rest[at] - '0'); };
    if (rest.size() > 4 && digit(1) <= 9 && rest[2] == '\r' && rest[3] == '\n') {
        number = digit(1);
        at_ += 4;
        return parse_result::complete;
    }
    if (rest.size() > 5 && digit(1) <= 9 && digit(2) <= 9 && rest[3] == '\r' && rest[4] == '\n') {
        number = 10 * digit(1) + digit(2);
        at_ += 5;
        return parse_result::complete;
    }
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
        if (rest.size() == max_number_line) return fail("too big count string");
        return parse_result::incomplete;
    }
    if (end < 2) return fail("invalid length: no digits");
    const char* const last = rest.data() + end - 1;
    const auto [stop, failed] = std::from_chars(rest.data() + 1, last, number);
    if (failed != std::errc{} || stop != last || *last != '\r') return fail("invalid length: not a number");
    at_ += end + 1;
    return parse_result::complete;
}

request_parser::parse_result request_parser::parse_array(std::string_view input, const request_limits& limits) {
    if (missing_words_ == 0) {
        std::int64_t words = 0;
        if (const parse_result o = parse_number(input, '*', words); o != parse_result::complete) return o;
        if (words < 0 || static_cast<std::uint64_t>(words) > limits.arguments)
            return fail("invalid multibulk length: allowed are 0 to " + std::to_string(limits.arguments));
        if (words == 0) return finish(input);
        missing_words_ = static_cast<std::size_t>(words);
    }
    while (word_ranges_.size() < missing_words_) {
        if (word_size_ < 0) {
            if (const parse_result o = parse_number(input, '$', word_size_); o != parse_result::complete) return o;
            if (word_size_ < 0) return fail("invalid bulk length: negative");
            // The sum cannot overflow: at_ is at most input.size(), and both terms are less than 2^63.
            if (static_cast<std::uint64_t>(word_size_) > limits.bytes ||
                at_ + static_cast<std::size_t>(word_size_) > limits.bytes)
                return fail("invalid bulk length: the request is longer than " + std::to_string(limits.bytes) +
                            " bytes");
        }
        const auto size = static_cast<std::size_t>(word_size_);
        if (input.size() - at_ < size + 2) return parse_result::incomplete;
        if (input[at_ + size] != '\r' || input[at_ + size + 1] != '\n')
            return fail("a word is longer than its bulk length");
        word_ranges_.push_back({at_, size});
        at_ += size + 2;
        word_size_ = -1;
    }
    return finish(input);
}

}  // namespace tutti::server
