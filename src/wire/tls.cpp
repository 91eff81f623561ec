#include "wire/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "secure/session.hpp"
#include "wire/fault_injection.hpp"
#include "wire/wire_error.hpp"

namespace tutti::wire {
namespace {

template <class T, void (*Free)(T*)>
struct freed_by {
    void operator()(T* p) const noexcept { Free(p); }
};
template <class T, void (*Free)(T*)>
using owned = std::unique_ptr<T, freed_by<T, Free>>;

/// Names are compared literally, without wildcards. The names in the certificate's subject are ignored.
constexpr unsigned how_names_match = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

constexpr std::size_t max_names = 300;  // bytes of names in a message

constexpr unsigned char record_of_handshake = 22, record_of_alert = 21;

std::string names_of(X509* certificate) {
    std::string all;
    auto* const names =
        static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS) continue;
        if (!all.empty()) all += ", ";
        const std::string_view one{reinterpret_cast<const char*>(::ASN1_STRING_get0_data(name->d.dNSName)),
                                   static_cast<std::size_t>(::ASN1_STRING_length(name->d.dNSName))};
        all.append(one.substr(0, max_names));
        if (all.size() > max_names) break;
    }
    ::GENERAL_NAMES_free(names);
    // An unknown client may have forged the certificate, and must not be able to write lines of its own into our log.
    std::ranges::replace_if(all, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
    return all.empty() ? "no DNS name" : all;
}

bool is_made_for(X509* certificate, const std::string& name) {
    return ::X509_check_host(certificate, name.data(), name.size(), how_names_match, nullptr) == 1;
}

/// Returns true if OpenSSL's error says that the two sides have no version or no cipher in common.
bool is_without_common_protocol(unsigned long error) noexcept {
    if (ERR_GET_LIB(error) != ERR_LIB_SSL) return false;
    switch (ERR_GET_REASON(error)) {
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_WRONG_CIPHER_RETURNED: return true;
        default: return false;
    }
}

/// Checks this side's own certificate as every other side will check it, because the user of this side can correct an
/// error.
void check_own(SSL_CTX* context, const tls_files& files, const std::vector<std::string>& own_names) {
    X509* const own = ::SSL_CTX_get0_certificate(context);
    if (!own_names.empty() &&
        std::ranges::none_of(own_names, [own](const std::string& name) { return is_made_for(own, name); })) {
        throw wire_error{"TLS: the certificate " + files.certificate + " is made for " + names_of(own) +
                         ", and must be made for " + own_names.front() + " (subjectAltName=DNS:" + own_names.front() +
                         ")"};
    }
    STACK_OF(X509)* between = nullptr;
    ::SSL_CTX_get0_chain_certs(context, &between);
    for (const char* const role : {"ssl_server", "ssl_client"}) {
        const owned<X509_STORE_CTX, X509_STORE_CTX_free> check{::X509_STORE_CTX_new()};
        if (!check || ::X509_STORE_CTX_init(check.get(), ::SSL_CTX_get_cert_store(context), own, between) != 1)
            throw std::bad_alloc{};
        ::X509_STORE_CTX_set_default(check.get(), role);
        if (::X509_verify_cert(check.get()) == 1) continue;
        const int error = ::X509_STORE_CTX_get_error(check.get());
        throw wire_error{"TLS: the certificate " + files.certificate + " would be refused by every side that trusts " +
                         files.authority + ": " + ::X509_verify_cert_error_string(error) +
                         "; use one that this authority has signed"};
    }
}

}  // namespace

void require_known(const secure::protocol_choice& what) {
    if (what == secure::protocol_choice{}) return;
    if (const std::string objection = secure::objection_to(what); !objection.empty()) throw wire_error{objection};
}

std::string certificate_name(node_number node, std::string_view cluster) {
    return "node-" + std::to_string(node) + "." + std::string{cluster};
}

std::string_view alert_in_the_clear() noexcept {
    // An alert record of TLS 1.2 with two bytes: fatal, protocol_version.
    return {"\x15\x03\x03\x00\x02\x02\x46", 7};
}

bool looks_like_handshake(std::string_view bytes) noexcept {
    return !bytes.empty() && static_cast<unsigned char>(bytes[0]) == record_of_handshake;
}

bool looks_like_alert(std::string_view bytes) noexcept {
    return bytes.size() >= 2 && static_cast<unsigned char>(bytes[0]) == record_of_alert && bytes[1] == 3;
}

// ---- a process

tls::tls(const tls_files& files, const std::vector<std::string>& own_names) {
    if (files.certificate.empty() || files.key.empty() || files.authority.empty()) {
        throw wire_error{
            "TLS needs three files, a certificate, its key and the authority that has signed all certificates: give "
            "the missing ones"};
    }
    if (!files.protocol.names_a_version()) throw wire_error{secure::unknown_version};
    try {
        context_ = secure::make_context(secure::role::peer, {.certificate = files.certificate,
                                                             .key = files.key,
                                                             .authority = files.authority,
                                                             .protocol = files.protocol});
    } catch (const secure::tls_error& e) {
        throw wire_error{std::string{"TLS: "} + e.what()};
    }
    SSL_CTX* const c = context_.get();
    ::SSL_CTX_set_verify(c, ::SSL_CTX_get_verify_mode(c), tls_session::record_refused_certificate);
    if (injected(fault::no_authority_check)) {
        ::SSL_CTX_set_cert_verify_callback(c, [](X509_STORE_CTX*, void*) { return 1; }, nullptr);
    }
    check_own(c, files, own_names);
}

std::unique_ptr<tls_session> tls::call(const std::string& expected) const {
    return std::unique_ptr<tls_session>{new tls_session{context_, secure::end::connecting, expected}};
}

std::unique_ptr<tls_session> tls::answer() const {
    return std::unique_ptr<tls_session>{new tls_session{context_, secure::end::accepting, {}}};
}

// ---- a connection

tls_session::tls_session(const secure::context& context, secure::end side, const std::string& expected)
    : session_{context, side}, expected_{expected} {
    SSL* const s = session_.get();
    SSL_set_app_data(s, this);
    if (side == secure::end::accepting || injected(fault::no_name_check)) return;
    ::SSL_set_hostflags(s, how_names_match);
    if (::SSL_set1_host(s, expected.c_str()) != 1) throw std::bad_alloc{};
}

bool tls_session::decrypt(std::string_view came, std::string& plain) {
    const std::lock_guard hold{guard_};
    if (over_) return false;
    // A peer that does not use TLS gets an alert.
    if (!has_received_ && !came.empty()) {
        has_received_ = true;
        if (!looks_like_handshake(came) && !looks_like_alert(came)) {
            over_ = true;
            error_ = "does not speak TLS: give it a certificate, too, if it is a member or a node of this cluster";
            if (::SSL_is_server(session_.get()) == 1) alert_ = alert_in_the_clear();
            return false;
        }
    }
    session_.feed(came);
    return step(plain);
}

bool tls_session::step(std::string& plain) {
    for (;;) {
        const std::size_t had = plain.size();
        plain.resize(had + SSL3_RT_MAX_PLAIN_LENGTH);
        const secure::session::result read = session_.read(std::span{plain}.subspan(had));
        plain.resize(had + read.bytes);
        switch (read.now) {
            case secure::session::status::done: break;
            case secure::session::status::needs_input: return true;
            case secure::session::status::ended: over_ = true; return false;
            default: fail(); return false;
        }
    }
}

/// Records the names in a refused certificate, because OpenSSL does not keep the certificate.
int tls_session::record_refused_certificate(int good, X509_STORE_CTX* check) {
    if (good == 1) return good;
    const auto* const s =
        static_cast<const SSL*>(::X509_STORE_CTX_get_ex_data(check, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
    X509* const shown = ::X509_STORE_CTX_get_current_cert(check);
    if (auto* const self = static_cast<tls_session*>(SSL_get_app_data(s)); shown != nullptr)
        self->refused_names_ = names_of(shown);
    return good;
}

void tls_session::fail() {
    over_ = true;
    const long verified = ::SSL_get_verify_result(session_.get());
    const unsigned long code = ::ERR_peek_last_error();
    if (verified == X509_V_ERR_HOSTNAME_MISMATCH) {
        error_ = "shows a certificate that is made for " + refused_names_ + ", and not for " + expected_ +
                 ": it is another one, or has another's certificate";
    } else if (verified != X509_V_OK) {
        error_ = std::string{"shows a certificate that is refused: "} + ::X509_verify_cert_error_string(verified) +
                 "; use one that is signed by the authority that this side trusts";
    } else if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET) {
        const char* const reason = ::ERR_reason_error_string(code);
        error_ = std::string{"refuses this side's certificate, or its TLS: "} + (reason ? reason : "no reason");
    } else if (is_without_common_protocol(code)) {
        error_ = std::string{"offers no version or cipher of TLS that is allowed here ("} +
                 ::ERR_reason_error_string(code) +
                 "): give both sides the same tls-min-version, tls-ciphers and tls-ciphersuites";
    } else {
        const char* const reason = ::ERR_reason_error_string(code);
        error_ = std::string{"has sent invalid TLS: "} + (reason != nullptr ? reason : "no reason given");
    }
    ::ERR_clear_error();
}

bool tls_session::encrypt(std::string& plain) {
    const std::lock_guard hold{guard_};
    const bool sealed = !over_ && (plain.empty() || session_.write(plain).now == secure::session::status::done);
    plain.clear();
    if (sealed) session_.take(plain);
    return sealed;
}

std::string tls_session::pending_output() {
    const std::lock_guard hold{guard_};
    std::string all{std::exchange(alert_, {})};
    session_.take(all);
    return all;
}

bool tls_session::is_established() const {
    const std::lock_guard hold{guard_};
    return !over_ && session_.is_established();
}

bool tls_session::has_name(const std::string& name) const {
    const std::lock_guard hold{guard_};
    X509* const shown = ::SSL_get0_peer_certificate(session_.get());
    return injected(fault::no_name_check) || (shown != nullptr && is_made_for(shown, name));
}

std::string tls_session::names() const {
    const std::lock_guard hold{guard_};
    X509* const shown = ::SSL_get0_peer_certificate(session_.get());
    return shown != nullptr ? names_of(shown) : "nobody";
}

std::string tls_session::error() const {
    const std::lock_guard hold{guard_};
    return error_;
}

}  // namespace tutti::wire
