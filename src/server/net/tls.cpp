#include "server/net/tls.hpp"

#include <stdexcept>
#include <utility>

#include "secure/session.hpp"

namespace tutti::server {
namespace {

secure::protocol_choice protocol_of(const tls_files& how) {
    return {.minimum_version = how.minimum_version, .ciphers = how.ciphers, .ciphersuites = how.ciphersuites};
}

class tls_stream final : public stream {
public:
    tls_stream(handle socket, const secure::context& by)
        : stream{std::move(socket)}, session_{by, secure::end::accepting, stream::socket()} {}

    // The buffer has room for a whole record, and OpenSSL without read-ahead reads one record at a time. So one read
    // returns everything that OpenSSL has read from the socket. All remaining data is in the socket, where epoll
    // reports it.
    result read(std::span<char> into) noexcept override {
        const secure::session::result read = session_.read(into);
        wants_to_write_ = read.now == secure::session::status::needs_output;
        return result_of(read);
    }
    result write(std::string_view text) noexcept override { return result_of(session_.write(text)); }
    void finish() noexcept override {
        session_.shut_down();
        stream::finish();
    }
    [[nodiscard]] bool is_established() const noexcept override { return session_.is_established(); }
    [[nodiscard]] bool wants_to_write() const noexcept override { return wants_to_write_; }

private:
    static result result_of(const secure::session::result& of) noexcept {
        switch (of.now) {
            case secure::session::status::done: return {state::good, of.bytes};
            case secure::session::status::needs_input:
            case secure::session::status::needs_output: return {state::would_block};
            case secure::session::status::ended: return {state::ended};
            case secure::session::status::failed: break;
        }
        return {state::broken};
    }

    secure::session session_;
    bool wants_to_write_ = false;
};

}  // namespace

void require_known_ciphers(const tls_files& how) {
    const std::string objection = secure::objection_to(protocol_of(how));
    if (!objection.empty()) throw std::runtime_error{objection};
}

tls::context tls::read(const tls_files& files) {
    try {
        return secure::make_context(secure::role::server, {.certificate = files.certificate,
                                                           .key = files.key,
                                                           .authority = files.client_authority,
                                                           .protocol = protocol_of(files)});
    } catch (const secure::tls_error& e) {
        throw std::runtime_error{std::string{"TLS: "} + e.what()};
    }
}

tls::tls(tls_files files) : files_{std::move(files)}, context_{read(files_)} {}

void tls::renew() {
    context fresh = read(files_);
    const std::scoped_lock lock{mutex_};
    context_.swap(fresh);
}

std::unique_ptr<stream> tls::make_stream(handle socket) const {
    const context now = [this] {
        const std::scoped_lock lock{mutex_};
        return context_;
    }();
    return std::make_unique<tls_stream>(std::move(socket), now);
}

}  // namespace tutti::server
