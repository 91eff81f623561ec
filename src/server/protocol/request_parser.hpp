// Cuts a stream of bytes into requests: RESP arrays of bulk strings, as client libraries send them, or lines of words,
// as people type them.
//
// P1  `request_limits` bounds the memory that a connection can make the server hold, whatever the client sends.
// P2  Each byte is scanned once, however slowly a request arrives, because the parser keeps its position.
// P3  Any input yields requests, a request for more input, or one error. After an error the stream cannot be parsed
//     further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::server {

struct request_limits {
    std::size_t arguments = 1024;              ///< maximum number of words in a request
    std::size_t bytes = std::size_t{1} << 20;  ///< maximum length of a request
};

class request_parser {
public:
    enum class outcome : std::uint8_t { incomplete, complete, malformed };

    /// Parses `input`, which begins where the current request begins and continues the input seen before.
    [[nodiscard]] outcome parse(std::string_view input, const request_limits& limits);

    /// After `complete`: the words, which point into `input`, and the length of the request. An empty line has no
    /// words.
    [[nodiscard]] const std::vector<std::string_view>& words() const noexcept { return words_; }
    [[nodiscard]] std::size_t length() const noexcept { return at_; }
    /// After `malformed`: the error message for the client.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

    /// Prepares for the next request.
    void restart() noexcept;

private:
    struct piece {
        std::size_t at;
        std::size_t size;
    };
    outcome fail(std::string why);
    outcome parse_line(std::string_view input, const request_limits& limits);
    outcome parse_array(std::string_view input, const request_limits& limits);
    /// Parses a line with the character of a type and a number. Moves behind the line.
    outcome parse_number(std::string_view input, char type, std::int64_t& number);
    outcome finish(std::string_view input);

    std::size_t at_ = 0;           // everything before it is parsed
    std::size_t looked_ = 0;       // everything before it contains no end of line
    std::size_t awaited_ = 0;      // words to come; 0: the head of the request has not been read
    std::int64_t word_size_ = -1;  // size of the next word; -1: not known yet
    std::vector<piece> pieces_;    // offsets, because the buffer may move between two calls
    std::vector<std::string_view> words_;
    std::string error_;
};

}  // namespace tutti::server
