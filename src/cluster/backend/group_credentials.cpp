#include "cluster/backend/group_credentials.hpp"

#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster::backend::group {
namespace {

std::vector<std::string> own_names(const std::string& group_name, peer_kind own) {
    std::vector names{certificate_name(own, group_name)};
    if (own == peer_kind::program) names.push_back(certificate_name(peer_kind::member, group_name));  // CRD2
    return names;
}

}  // namespace

std::string certificate_name(peer_kind kind, const std::string& group_name) {
    return (kind == peer_kind::member ? "member." : "program.") + group_name;
}

credentials::credentials(tls_settings how, peer_kind own) try
    : how_{std::move(how)}, tls_{how_.files, own_names(how_.group_name, own)} {
} catch (const wire::wire_error& r) {
    throw engine_error{r.what()};
}

std::shared_ptr<credentials> credentials::of(const tls_settings& how, peer_kind own) try {
    wire::require_known(how.files.protocol);
    return how.files.are_set() ? std::make_shared<credentials>(how, own) : nullptr;
} catch (const wire::wire_error& r) {
    throw engine_error{r.what()};
}

std::unique_ptr<wire::tls_session> credentials::client_session() {
    return tls_.current()->call(name_of(peer_kind::member));
}

std::unique_ptr<wire::tls_session> credentials::server_session() { return tls_.current()->answer(); }

std::string credentials::reason_to_reject(const wire::tls_session& s, peer_kind kind) const {
    const std::string member = name_of(peer_kind::member), program = name_of(peer_kind::program);
    if (s.has_name(member) || (kind == peer_kind::program && s.has_name(program))) return {};
    return "shows a certificate that is made for " + s.names() + ", and a " +
           (kind == peer_kind::member ? "member's must be made for " + member
                                      : "program's must be made for " + program) +
           ": use such a certificate";
}

}  // namespace tutti::cluster::backend::group
