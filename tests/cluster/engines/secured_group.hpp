// Shared helpers of tests of groups under TLS.
#pragma once

#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/node.hpp>

#include "cli/port.hpp"
#include "cluster/backend/address.hpp"
#include "cluster/backend/engine_settings.hpp"
#include "cluster/backend/member_connection.hpp"
#include "cluster/certificates.hpp"
#include "cluster/engines/servers.hpp"

#define EXPECT_SAYS(text, part) EXPECT_PRED_FORMAT2(::tutti::cluster::testing::says, text, part)

namespace tutti::cluster::testing {

inline ::testing::AssertionResult says(const char*, const char*, const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "'" << part << "' is missing: " << text;
}

/// Return an authority with members and a program, and another authority with the same names.
inline const strangers::certificates& ours() {
    static const strangers::certificates all{"tls-group", "tutti", "member"};
    return all;
}
inline const strangers::certificates& theirs() {
    static const strangers::certificates all{"tls-other-group", "tutti", "member"};
    return all;
}

inline std::string whole(const std::string& file) {
    std::ostringstream all;
    all << std::ifstream{file}.rdbuf();
    return all.str();
}

template <class Test>
void until(Test&& test) {
    while (!test()) std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

/// Waits until the log of member `i` contains `part`.
inline void await_line(const group_server& g, std::size_t i, const std::string& part) {
    until([&] { return whole(g.log_of(i)).find(part) != std::string::npos; });
}

inline int port_of(const std::string& place) { return std::stoi(place.substr(place.rfind(':') + 1)); }

inline engine_options engine_options_of(const std::string& address, const tls_options& tls) {
    engine_options how;
    how.address = address;
    how.prefix = "g";
    how.request_timeout = std::chrono::seconds{20};
    how.tls = tls;
    return how;
}

inline backend::group::tls_settings tls_of(const tls_options& tls) {
    return settings_of(engine_options_of("", tls)).tls;
}

inline std::unique_ptr<backend::engine> engine_at(const std::string& address, const tls_options& tls) {
    return backend::open_engine(address, settings_of(engine_options_of(address, tls)));
}

/// Returns the error of a program that cannot use an engine, or an empty string if it can.
inline std::string why_not(engine_options how) {
    how.request_timeout = std::chrono::milliseconds{1500};
    try {
        const node here{how};
    } catch (const connection_error& e) {
        return e.what();
    }
    return {};
}

inline bool put(backend::engine& e, const std::string& k, const std::string& bytes) {
    const backend::write w{k, true, bytes};
    backend::request r;
    r.writes = {&w, 1};
    e.commit(r);
    return r.status == backend::engine_status::good;
}

inline std::string look(backend::engine& e, const std::string& k) {
    backend::read_snapshot any;
    std::vector<backend::record> found;
    if (e.get(any, backend::freshness::now, {}, {&k, 1}, found) != backend::engine_status::good)
        throw std::runtime_error{"it cannot be read"};
    return found.front().bytes;
}

/// Returns the hello of a program, or of a member that wants the member `wanted`.
inline std::string hello_of(backend::group::peer_kind who, std::uint64_t wanted = 0) {
    backend::group::hello all;
    all.kind = who;
    all.own_id = 7;
    all.expected_id = wanted;
    return wire::encode(all);
}

}  // namespace tutti::cluster::testing
