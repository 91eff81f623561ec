#include "server/net/client_timeouts.hpp"

namespace tutti::server {

using std::chrono::milliseconds;

namespace {

/// The server assumes that a client that has sent no request for this long is not about to send one. When the server
/// ends, it waits this long after a client's last answer. The time is too short for a user to notice.
constexpr milliseconds silence{100};

}  // namespace

bool may_have_request_in_flight(const connection& c, instant end_began, instant now) noexcept {
    return !c.got_shutdown_error && !c.input_ended && now - c.last_request < silence && now - end_began < silence;
}

bool is_timed_out(const connection& c, const settings& how, bool draining, instant now) noexcept {
    const auto past = [now](instant since, milliseconds limit) { return limit.count() > 0 && now - since > limit; };
    constexpr milliseconds default_limit{10'000};
    constexpr int slowest_farewell = 6;  // times the limit, for a client that reads its last answers slowly
    const milliseconds to_read = draining && how.write_timeout.count() == 0 ? default_limit : how.write_timeout;
    if (c.lingering && draining && past(c.last_written, silence) && c.io->is_all_received()) return true;
    if (c.lingering) return past(c.last_progress, to_read);
    if (c.all_answered && past(*c.all_answered, slowest_farewell * to_read)) return true;
    // The limit counts from the client's arrival, so data that the client sends meanwhile does not extend it.
    const bool lacks_login = !c.who.is_trusted || !c.io->is_established();
    if (lacks_login && past(c.arrived, how.login_timeout)) return true;
    if (c.unsent_bytes() > 0) return past(c.last_progress, to_read);
    return c.in_flight == 0 && past(c.last_request, how.idle_timeout);
}

}  // namespace tutti::server
