#include "cluster/backend/redis.hpp"

#include <poll.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <hiredis/hiredis.h>

#include "base/sigpipe_guard.hpp"
#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/connection_pool.hpp"
#include "cluster/backend/redis_scripts.hpp"

namespace tutti::cluster::backend {
namespace {

struct close_connection {
    void operator()(redisContext* c) const noexcept { redisFree(c); }
};
struct free_reply {
    void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
};
struct redis_connection {
    std::unique_ptr<redisContext, close_connection> context;
    std::chrono::milliseconds request_timeout;  // for each answer
};
using reply = std::unique_ptr<redisReply, free_reply>;

// A guard is needed, because hiredis sends without MSG_NOSIGNAL.
using base::sigpipe_guard;

timeval time_of(std::chrono::milliseconds t) { return {t.count() / 1000, (t.count() % 1000) * 1000}; }

std::string digits_of(version v) {
    if (v == 0) return {};
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(v));
    return text.data();
}

bool is_error(const redisReply& r, const char* code) {
    return r.type == REDIS_REPLY_ERROR && std::strncmp(r.str, code, std::strlen(code)) == 0;
}

class subscription final : public key_feed {
public:
    subscription(std::unique_ptr<redis_connection> l, std::size_t prefix)
        : connection_{std::move(l)}, prefix_{prefix} {}
    bool next(std::vector<key>& written) override {
        redisContext* const c = connection_->context.get();
        while (!closed_.load(std::memory_order_relaxed)) {
            void* got = nullptr;
            if (redisGetReplyFromReader(c, &got) != REDIS_OK) return false;
            if (got != nullptr) {
                const reply r{static_cast<redisReply*>(got)};
                if (r->type == REDIS_REPLY_ARRAY && r->elements == 3 && r->element[2]->type == REDIS_REPLY_STRING)
                    written.emplace_back(r->element[2]->str + prefix_, r->element[2]->len - prefix_);
                continue;
            }
            if (!written.empty()) return true;
            pollfd p{c->fd, POLLIN, 0};
            if (::poll(&p, 1, 50) > 0 && redisBufferRead(c) != REDIS_OK) return false;
        }
        return false;
    }
    void close() noexcept override { closed_.store(true, std::memory_order_relaxed); }

private:
    std::unique_ptr<redis_connection> connection_;
    const std::size_t prefix_;  // length of the prefix, which is removed from keys
    std::atomic<bool> closed_{false};
};

class redis final : public engine {
public:
    redis(server_address at, const settings& how) : at_{std::move(at)}, how_{how}, prefix_{how.prefix + ":"} {
        abilities_.name = "Redis at " + (at_.port == 0 ? at_.host : at_.host + ":" + std::to_string(at_.port));
        std::unique_ptr<redis_connection> l = connect(how.request_timeout);
        if (!l) throw_unanswered();
        check_settings(*l);
        pool_.release(std::move(l));
    }
    const capabilities& abilities() const noexcept override { return abilities_; }

    engine_status get(read_snapshot&, freshness, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override {
        std::vector<std::string> keys, values{std::to_string(held.size())};
        for (const check& c : held) {
            keys.push_back(prefix_ + c.of);
            values.push_back(digits_of(c.at));
        }
        for (const key& k : wanted) keys.push_back(prefix_ + k);
        const reply r = ask_until_answered(redis_get, get_, keys, values);
        if (!r) return engine_status::unreachable;
        if (r->type == REDIS_REPLY_INTEGER) return engine_status::conflict;
        if (r->type != REDIS_REPLY_ARRAY || r->elements != wanted.size()) return engine_status::unreachable;
        found.clear();
        for (std::size_t i = 0; i < r->elements; ++i) {
            const std::string_view all{r->element[i]->str, r->element[i]->len};
            record& one = found.emplace_back();
            if (all.size() < 17) continue;
            std::from_chars(all.data(), all.data() + 16, one.at, 16);
            one.exists = all[16] == '1';
            one.bytes = all.substr(17);
        }
        return engine_status::good;
    }

    void commit(request& r) override {
        std::vector<std::string> keys{prefix_ + "versions"}, values{std::to_string(r.checks.size()), channel()};
        for (const check& c : r.checks) {
            keys.push_back(prefix_ + c.of);
            values.push_back(digits_of(c.at));
        }
        for (const write& w : r.writes) {
            keys.push_back(prefix_ + w.of);
            values.push_back((w.exists ? "1" : "0") + w.bytes);
        }
        backoff_timer timer{how_.request_timeout};
        std::unique_ptr<redis_connection> l;
        while (!(l = acquire(timer.remaining()))) {
            if (timer.wait()) continue;
            r.status = engine_status::unreachable;
            return;
        }
        const reply a = run(std::move(l), redis_commit, commit_, keys, values);
        if (!a) {
            r.status = engine_status::unknown;
        } else if (a->type != REDIS_REPLY_INTEGER) {
            // Redis rejects a script before its first write, or not at all. Reasons are a lack of memory, a full disk,
            // or that the server is a replica.
            r.status = is_error(*a, "OOM") || is_error(*a, "MISCONF") || is_error(*a, "READONLY")
                           ? engine_status::refused
                           : engine_status::unreachable;
            r.reason = "tutti: " + abilities_.name + " refuses writes: " + std::string{a->str, a->len};
        } else {
            r.status = a->integer == 0 ? engine_status::conflict : engine_status::good;
            r.at = static_cast<version>(a->integer);
        }
    }

    void forget(std::span<const key> all) noexcept override {
        const std::unique_ptr<redis_connection> l = pool_.acquire();
        if (!l) return;
        const sigpipe_guard quiet;
        try {
            for (const key& k : all) {
                const reply r{
                    static_cast<redisReply*>(redisCommand(l->context.get(), "DEL %s", (prefix_ + k).c_str()))};
                if (!r) return;
            }
        } catch (const std::bad_alloc&) {  // the records stay
        }
    }

    std::unique_ptr<key_feed> open_key_feed() override {
        std::unique_ptr<redis_connection> l = connect(how_.request_timeout);
        if (!l) return nullptr;
        const sigpipe_guard quiet;
        const reply r{static_cast<redisReply*>(redisCommand(l->context.get(), "SUBSCRIBE %s", channel().c_str()))};
        if (!r || r->type != REDIS_REPLY_ARRAY) return nullptr;
        return std::make_unique<subscription>(std::move(l), prefix_.size());
    }

private:
    [[nodiscard]] std::string channel() const { return prefix_ + "written"; }

    std::unique_ptr<redis_connection> connect(std::chrono::milliseconds timeout) const {
        const timeval t = time_of(timeout);
        auto l = std::make_unique<redis_connection>();
        l->request_timeout = timeout;
        const bool has_brackets = at_.host.starts_with('[');  // hiredis does not accept brackets
        const std::string host = has_brackets ? at_.host.substr(1, at_.host.size() - 2) : at_.host;
        l->context.reset(at_.port == 0 ? redisConnectUnixWithTimeout(at_.host.c_str(), t)
                                       : redisConnectWithTimeout(host.c_str(), at_.port, t));
        if (!l->context || l->context->err != 0 || redisSetTimeout(l->context.get(), t) != REDIS_OK) return nullptr;
        return l;
    }
    std::unique_ptr<redis_connection> acquire(std::chrono::milliseconds timeout) {
        std::unique_ptr<redis_connection> l = pool_.acquire();
        return l ? std::move(l) : connect(timeout);
    }

    /// Runs a script, again and again until it is answered. An idle connection may have ended, which is noticed only at
    /// its next use. A server that was just started may still load its data.
    reply ask_until_answered(const char* script, std::string& known_as, const std::vector<std::string>& keys,
                             const std::vector<std::string>& values) {
        backoff_timer timer{how_.request_timeout};
        do {
            std::unique_ptr<redis_connection> l = acquire(timer.remaining());
            if (!l) continue;
            reply r = run(std::move(l), script, known_as, keys, values);
            if (r && r->type != REDIS_REPLY_ERROR) return r;
        } while (timer.wait());
        return nullptr;
    }

    /// Runs a script. Returns null if there is no answer.
    reply run(std::unique_ptr<redis_connection> l, const char* script, std::string& known_as,
              const std::vector<std::string>& keys, const std::vector<std::string>& values) {
        std::string name;
        {
            const std::lock_guard hold{names_guard_};
            name = known_as;
        }
        const auto ask = [&](const char* how, const std::string& what) {
            std::vector<const char*> words{how, what.c_str()};
            std::vector<std::size_t> sizes{std::strlen(how), what.size()};
            const std::string count = std::to_string(keys.size());
            const auto add = [&](const std::string& word) {
                words.push_back(word.data());
                sizes.push_back(word.size());
            };
            add(count);
            for (const std::string& k : keys) add(k);
            for (const std::string& v : values) add(v);
            return reply{static_cast<redisReply*>(
                redisCommandArgv(l->context.get(), static_cast<int>(words.size()), words.data(), sizes.data()))};
        };
        const sigpipe_guard quiet;
        reply r;
        if (!name.empty()) r = ask("EVALSHA", name);
        if (name.empty() || (r && is_error(*r, "NOSCRIPT"))) {
            const reply loaded{static_cast<redisReply*>(
                redisCommand(l->context.get(), "SCRIPT LOAD %b", script, std::strlen(script)))};
            if (loaded && loaded->type == REDIS_REPLY_STRING) {
                name.assign(loaded->str, loaded->len);
                const std::lock_guard hold{names_guard_};
                known_as = name;
            }
            r = loaded ? ask("EVAL", script) : nullptr;
        }
        if (!r) pool_.close_all();
        else if (l->request_timeout == how_.request_timeout) pool_.release(std::move(l));  // no late try has changed it
        return r;
    }

    [[noreturn]] void throw_unanswered() const {
        throw engine_error{abilities_.name + " does not answer: start it, or give another address"};
    }
    void check_settings(redis_connection& l) {
        const auto setting = [&](const char* name) {
            const sigpipe_guard quiet;
            const reply r{static_cast<redisReply*>(redisCommand(l.context.get(), "CONFIG GET %s", name))};
            if (!r) throw_unanswered();
            if (is_error(*r, "NOAUTH")) {
                throw engine_error{
                    abilities_.name +
                    " asks for a password, which Tutti cannot send: let it accept programs of this machine "
                    "without one, or use another engine"};
            }
            if (r->type != REDIS_REPLY_ARRAY || r->elements != 2) return std::string{};
            return std::string{r->element[1]->str, r->element[1]->len};
        };
        abilities_.durable = setting("appendonly") == "yes" && setting("appendfsync") == "always";
        const std::string memory = setting("maxmemory"), policy = setting("maxmemory-policy");
        if (!memory.empty() && memory != "0" && policy != "noeviction") {
            throw engine_error{abilities_.name + " forgets records when its memory is full (maxmemory-policy " +
                               policy + "): set noeviction"};
        }
    }

    const server_address at_;
    const settings how_;
    const std::string prefix_;
    capabilities abilities_;
    connection_pool<redis_connection> pool_;
    std::mutex names_guard_;  // guards the following two, which are set once
    std::string get_, commit_;
};

}  // namespace

std::unique_ptr<engine> open_redis(std::string_view where, const settings& how) {
    if (where.starts_with("//")) where.remove_prefix(2);
    return std::make_unique<redis>(parse_server_address(where, 6379), how);
}

}  // namespace tutti::cluster::backend
