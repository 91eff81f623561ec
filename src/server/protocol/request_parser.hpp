// Splits a stream of bytes into requests: RESP arrays of bulk strings, as client libraries send them, or lines of
// words, as people type them.
//
// PAR1  `request_limits` bounds the memory that a connection can make the server use, regardless of what the client
//       sends.
// PAR2  Each byte is scanned once, however slowly a request arrives, because the parser keeps its position.
// PAR3  Any input yields requests, a request for more input, or one error. After an error the stream cannot be parsed
//       further.
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
    enum class parse_result : std::uint8_t { incomplete, complete, malformed };

    /// Parses `input`, which begins with the first byte of the current request. After `incomplete`, the next call
    /// passes the same bytes again, followed by new bytes.
    [[nodiscard]] parse_result parse(std::string_view input, const request_limits& limits);

    /// After `complete`: these functions return the words, which point into `input`, and the length of the request. An
    /// empty line has no words.
    [[nodiscard]] const std::vector<std::string_view>& words() const noexcept { return words_; }
    [[nodiscard]] std::size_t length() const noexcept { return at_; }
    /// After `malformed`: the error message for the client.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

    /// Prepares the parser for the next request.
    void restart() noexcept;

private:
    struct word_range {
        std::size_t at;
        std::size_t size;
    };
    parse_result fail(std::string why);
    parse_result parse_line(std::string_view input, const request_limits& limits);
    parse_result parse_array(std::string_view input, const request_limits& limits);
    /// Parses a line that consists of the character of a type and a number. Moves `at_` past the line.
    parse_result parse_number(std::string_view input, char type, std::int64_t& number);
    parse_result finish(std::string_view input);

    std::size_t at_ = 0;                   // everything before it is parsed
    std::size_t searched_ = 0;             // everything before it contains no end of line
    std::size_t missing_words_ = 0;        // words to come; 0: the head of the request has not been read
    std::int64_t word_size_ = -1;          // size of the next word; -1: not known yet
    std::vector<word_range> word_ranges_;  // offsets, because the buffer may move between two calls
    std::vector<std::string_view> words_;
    std::string error_;
};

}  // namespace tutti::server
