// Cuts a stream of bytes into requests: RESP arrays of bulk strings, as clients send them, or lines of words,
// as people do.
//
//   P1  What a connection may make the server hold is bounded by `request_limits`, whatever it sends.
//   P2  Each byte is looked at once, however slowly a request trickles in: the parser remembers how far it came.
//   P3  Any input yields requests, a wish for more, or one error;
//       after an error the stream cannot be understood any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::server {

struct request_limits {
    std::size_t arguments = 1024;              ///< words of a request
    std::size_t bytes = std::size_t{1} << 20;  ///< of a request in all
};

class request_parser {
public:
    enum class outcome : std::uint8_t { incomplete, complete, malformed };

    /// Looks at `input`, which begins where the current request begins and continues what was seen before.
    [[nodiscard]] outcome parse(std::string_view input, const request_limits& limits);

    /// After `complete`: the words, in `input`, and how long the request was. An empty line has no words.
    [[nodiscard]] const std::vector<std::string_view>& words() const noexcept { return words_; }
    [[nodiscard]] std::size_t length() const noexcept { return at_; }
    /// After `malformed`: for the client to read.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

    /// Before the next request.
    void restart() noexcept;

private:
    struct piece {
        std::size_t at;
        std::size_t size;
    };
    outcome fail(std::string why);
    outcome parse_line(std::string_view input, const request_limits& limits);
    outcome parse_array(std::string_view input, const request_limits& limits);
    /// A line of a type's character and a number. Moves behind it.
    outcome parse_number(std::string_view input, char type, std::int64_t& number);
    outcome finish(std::string_view input);

    std::size_t at_ = 0;           // what is before it is understood
    std::size_t looked_ = 0;       // no end of line is before it
    std::size_t awaited_ = 0;      // words to come; 0: the head of the request has not been seen
    std::int64_t word_size_ = -1;  // of the word that comes next; -1: not known yet
    std::vector<piece> pieces_;    // offsets, because the buffer may move between two calls
    std::vector<std::string_view> words_;
    std::string error_;
};

}  // namespace tutti::server
