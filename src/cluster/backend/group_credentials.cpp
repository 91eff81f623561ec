#include "cluster/backend/group_credentials.hpp"

#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster::backend::group {
namespace {

std::vector<std::string> own_names(const std::string& group_name, speaker own) {
    std::vector names{certificate_name(own, group_name)};
    if (own == speaker::program) names.push_back(certificate_name(speaker::member, group_name));  // C2
    return names;
}

}  // namespace

std::string certificate_name(speaker who, const std::string& group_name) {
    return (who == speaker::member ? "member." : "program.") + group_name;
}

credentials::credentials(tls_settings how, speaker own) try
    : how_{std::move(how)}, tls_{how_.files, own_names(how_.group_name, own)} {
} catch (const wire::wire_error& r) {
    throw refusal{r.what()};
}

std::shared_ptr<credentials> credentials::of(const tls_settings& how, speaker own) try {
    wire::require_known(how.files.protocol);
    return how.files.are_set() ? std::make_shared<credentials>(how, own) : nullptr;
} catch (const wire::wire_error& r) {
    throw refusal{r.what()};
}

std::unique_ptr<wire::tls_session> credentials::call() { return tls_.current()->call(name_of(speaker::member)); }

std::unique_ptr<wire::tls_session> credentials::answer() { return tls_.current()->answer(); }

std::string credentials::objection(const wire::tls_session& s, speaker who) const {
    const std::string member = name_of(speaker::member), program = name_of(speaker::program);
    if (s.has_name(member) || (who == speaker::program && s.has_name(program))) return {};
    return "shows a certificate that is made for " + s.names() + ", and a " +
           (who == speaker::member ? "member's must be made for " + member : "program's must be made for " + program) +
           ": have one made";
}

}  // namespace tutti::cluster::backend::group
