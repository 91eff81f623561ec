// A client of `tutti serve` in C++, with hiredis: `bank PORT`, with the procedures of docs/server.md.
//
// About the settings:
//   timeouts   hiredis has no default timeouts, so a stopped server would block the client forever: set one for the
//              connection, and one for a reply, longer than the longest call
//   retry      hiredis never sends a command again, and a failed connection cannot be used again. Open another one and
//              send the call with the same ID: it runs once, whatever happens to the connection.
//   threads    a connection belongs to one thread at a time

#include <hiredis/hiredis.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The connection failed, or could not be opened: the request may have been executed.
struct broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The server has replied with an error. docs/server.md says for each error whether the call had an effect.
struct refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns a reply as text. The elements of a list are separated by spaces.
std::string text_of(const redisReply& answer) {
    switch (answer.type) {
        case REDIS_REPLY_ERROR: throw refused{std::string{answer.str, answer.len}};
        case REDIS_REPLY_INTEGER: return std::to_string(answer.integer);
        case REDIS_REPLY_ARRAY: {
            std::string all;
            for (std::size_t i = 0; i < answer.elements; ++i) {
                if (i != 0) all += ' ';
                all += text_of(*answer.element[i]);
            }
            return all;
        }
        default: return answer.str == nullptr ? "" : std::string{answer.str, answer.len};
    }
}

class connection {
public:
    /// @throws broken
    explicit connection(int port)
        : socket_{redisConnectWithTimeout("127.0.0.1", port, {.tv_sec = 2, .tv_usec = 0}), redisFree} {
        if (socket_ == nullptr || socket_->err != 0) throw broken{socket_ == nullptr ? "no memory" : socket_->errstr};
        redisSetTimeout(socket_.get(), {.tv_sec = 10, .tv_usec = 0});
    }

    /// @throws broken, refused
    std::string ask(const std::vector<std::string>& words) {
        std::vector<const char*> starts;
        std::vector<std::size_t> sizes;
        for (const std::string& w : words) {
            starts.push_back(w.data());
            sizes.push_back(w.size());
        }
        // Passes sizes instead of a format, because an argument may contain any bytes.
        void* const answer =
            redisCommandArgv(socket_.get(), static_cast<int>(words.size()), starts.data(), sizes.data());
        if (answer == nullptr) throw broken{socket_->errstr};
        const std::unique_ptr<void, decltype(&freeReplyObject)> held{answer, freeReplyObject};
        return text_of(*static_cast<const redisReply*>(answer));
    }

private:
    std::unique_ptr<redisContext, decltype(&redisFree)> socket_;
};

/// Returns a key that no other client uses: all clients of a server share its keys.
std::string new_key() {
    std::random_device dice;
    std::string key;
    for (int i = 0; i < 4; ++i) key += std::to_string(dice()) + '-';
    return key;
}

class bank {
public:
    explicit bank(int port) : port_{port} {}

    std::string call(const std::vector<std::string>& words) { return ask("CALL", words); }

    /// Runs the call exactly once, even if a reply is lost. The reply BUSY means that the first attempt still runs.
    std::string call_once(const std::vector<std::string>& words, int attempts = 5) {
        std::vector<std::string> with_key{"ID", new_key()};
        with_key.insert(with_key.end(), words.begin(), words.end());
        for (;;) {
            try {
                return ask("CALL", with_key);
            } catch (const broken&) {
                if (--attempts == 0) throw;
            }
        }
    }

    /// Runs all calls in one transaction, or none.
    std::string all_or_none(const std::vector<std::vector<std::string>>& calls) {
        try {
            ask("MULTI", {});
            for (const auto& words : calls) ask("CALL", words);
            return ask("EXEC", {});
        } catch (...) {
            open_.reset();  // a connection between MULTI and EXEC would queue later commands
            throw;
        }
    }

private:
    std::string ask(std::string_view command, const std::vector<std::string>& words) {
        std::vector<std::string> all{std::string{command}};
        all.insert(all.end(), words.begin(), words.end());
        if (!open_) open_ = std::make_unique<connection>(port_);
        try {
            return open_->ask(all);
        } catch (const broken&) {
            open_.reset();
            throw;
        }
    }

    int port_;
    std::unique_ptr<connection> open_;
};

}  // namespace

int main(int count, char** words) try {
    if (count != 2) throw std::invalid_argument{"usage: bank PORT"};
    bank of_port{std::atoi(words[1])};
    std::printf("moved: %s\n", of_port.call_once({"transfer", "1", "2", "30"}).c_str());
    std::printf("left: %s\n", of_port.call({"balance", "1"}).c_str());
    std::printf("both: %s\n",
                of_port.all_or_none({{"transfer", "2", "3", "10"}, {"transfer", "3", "1", "10"}}).c_str());
    for (const std::vector<std::string>& second :
         {std::vector<std::string>{"transfer", "2", "1", "1000000"}, {"nothing"}}) {
        try {
            of_port.all_or_none({{"transfer", "1", "2", "10"}, second});
        } catch (const refused& why) {
            const std::string_view text = why.what();
            std::printf("neither: %s\n", std::string{text.substr(0, text.find(' '))}.c_str());
        }
    }
    std::printf("left: %s\n", of_port.call({"balance", "1"}).c_str());
    return EXIT_SUCCESS;
} catch (const std::exception& e) {
    std::fprintf(stderr, "bank: %s\n", e.what());
    return EXIT_FAILURE;
}
