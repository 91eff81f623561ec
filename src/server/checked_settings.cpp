#include "server/checked_settings.hpp"

#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "secure/protocol_choice.hpp"
#include "tutti/server/endpoint.hpp"
#include "tutti/server/line_writer.hpp"

namespace tutti::server {
namespace {

/// Throws if a duration is too long. Durations are added to times of the clock, which counts nanoseconds in 64 bits,
/// and so covers about 292 years. The setting slow_log_slower_than may be longer, because it is only compared with
/// durations.
void need_representable(const settings& how) {
    const auto need = [](auto duration, const char* what) {
        if (duration > max_duration || duration < -max_duration)
            throw std::invalid_argument{std::string{what} + " must be at most 100 years"};
    };
    need(how.log.replay_limit, "log.replay_limit");
    need(how.log.wait_followers_timeout, "log.wait_followers_timeout");
    need(how.stuck_after, "stuck_after");
    need(how.short_call_limit, "short_call_limit");
    need(how.reply_cache_ttl, "reply_cache_ttl");
    need(how.shutdown_timeout, "shutdown_timeout");
    need(how.time_limit, "time_limit");
    need(how.idle_timeout, "idle_timeout");
    need(how.write_timeout, "write_timeout");
    need(how.keepalive, "keepalive");
    need(how.login_timeout, "login_timeout");
    need(how.request_timeout, "request_timeout");
}

}  // namespace

settings checked(settings how) {
    const auto need = [](bool fine, const char* what) {
        if (!fine) throw std::invalid_argument{what};
    };
    need(how.io_threads >= 1, "io_threads must be at least 1");
    need(how.io_realtime >= 0 && how.io_realtime <= 99, "io_realtime must be a priority from 1 to 99, or 0");
    need(!how.preemption.realtime_min_priority || how.io_realtime >= 2,
         "preemption.realtime_min_priority needs an io_realtime of at least 2: otherwise workers would take the "
         "processors of I/O threads");
    need(how.short_call_limit.count() >= 0, "short_call_limit must not be negative");
    need(how.shutdown_timeout.count() >= 0, "shutdown_timeout must not be negative");
    need_representable(how);
    need(!how.unix_mode || *how.unix_mode <= 0777, "unix_mode must be at most 0777");
    need(secure::protocol_choice{.minimum_version = how.tls.minimum_version}.names_a_version(),
         secure::unknown_version);
    need(how.max_queued_calls >= 1, "max_queued_calls must be at least 1");
    need(how.max_clients >= 1, "max_clients must be at least 1");
    need(how.max_arguments >= 2, "max_arguments must be at least 2");
    need(how.max_request >= 64, "max_request must be at least 64 bytes");
    need(how.max_buffered_bytes >= how.max_request, "max_buffered_bytes must be at least max_request");
    if (!how.max_buffered_bytes_clients) how.max_buffered_bytes_clients = how.max_buffered_bytes / 4 * 3;
    need(*how.max_buffered_bytes_clients < how.max_buffered_bytes,
         "max_buffered_bytes_clients must be less than max_buffered_bytes: the rest is for accepted calls");
    need(how.max_pipeline >= 1, "max_pipeline must be at least 1");
    need(how.password.empty() || how.users.empty(),
         "give users or a password, not both: name one of the users default");
    need(how.tls.certificate.empty() == how.tls.key.empty(), "tls.certificate and tls.key must be given together");
    need(how.tls.client_authority.empty() || !how.tls.certificate.empty(),
         "tls.client_authority needs tls.certificate");
    need(how.log.file.empty() || how.log.max_pending >= how.max_request,
         "log.max_pending must be at least max_request");
    how.host = without_brackets(how.host);
    how.follow.host = without_brackets(how.follow.host);
    how.log.max_cached_replies = how.max_cached_replies;
    how.log.reply_cache_ttl = how.reply_cache_ttl;
    if (!how.log_callback) {
        // The thread that logs a line must not be blocked, because it may serve clients, or be about to end the
        // process.
        const auto to = std::make_shared<line_writer>(STDERR_FILENO, [](std::uint64_t lines) {
            return "tutti: log lines lost because they could not be written: " + std::to_string(lines) + '\n';
        });
        how.log_callback = [to](severity, const std::string& line) { to->write("tutti: " + line + '\n'); };
    }
    need(how.follow.host.empty() || !how.log.file.empty(), "a server that follows another one needs a log (log.file)");
    need(how.log.wait_followers == 0 || !how.log.file.empty(), "log.wait_followers needs a log (log.file)");
    need(how.cluster == nullptr || how.log.file.empty(),
         "a server whose procedures use objects of a cluster logs no calls: a start runs them again, and would write "
         "the objects a second time. Run without a log, and use an engine for durable objects");
    need(how.max_output_buffer >= 1, "max_output_buffer must be at least 1 byte");
    return how;
}

}  // namespace tutti::server
