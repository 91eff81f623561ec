// What members and programs of a group show each other under TLS, and what each certificate allows.
//
//   C1  A member shows a certificate made for the DNS name member.<name of the group>, a program one for program.<name
//       of the group>; one authority has signed all of them. A caller expects a member: so a program's certificate can
//       pass for a member neither when it calls nor when it is called, and no group's for another's.
//   C2  A member's may do what a program's may, and the members of a group are changed with it alone.
//   C3  Certificates may be renewed while it runs (wire/renewed_tls.hpp).
//
// A member's number is not in its certificate: it is drawn when its folder is made, and each side tells the other whom
// it means (P1). Nor is its address: any member could stop its group.
//
// Thread safety: every member.
#pragma once

#include <memory>
#include <string>

#include "cluster/backend/group_protocol.hpp"
#include "wire/renewed_tls.hpp"

namespace tutti::cluster::backend::group {

/// Without files, everything is in the clear, and on loopback alone.
struct tls_settings {
    wire::tls_files files;
    std::string group_name = "tutti";
};

/// The DNS name of C1.
[[nodiscard]] std::string certificate_name(speaker who, const std::string& group_name);

class credentials {
public:
    /// Reads the files of a member or a program. Throws refusal where all others would refuse them.
    credentials(tls_settings how, speaker own);
    /// Null without files. Throws refusal.
    [[nodiscard]] static std::shared_ptr<credentials> of(const tls_settings& how, speaker own);

    /// The side that calls a member.
    [[nodiscard]] std::unique_ptr<wire::tls_session> call();
    /// The side of a member that is called.
    [[nodiscard]] std::unique_ptr<wire::tls_session> answer();
    [[nodiscard]] std::string name_of(speaker who) const { return certificate_name(who, how_.group_name); }
    /// Why the other side may not speak as `who`; empty: it may. REQUIRES: s.established().
    [[nodiscard]] std::string objection(const wire::tls_session& s, speaker who) const;
    /// Why the files as they are now are not in use (C3); empty: they are.
    [[nodiscard]] std::string trouble() const { return tls_.trouble(); }

private:
    const tls_settings how_;
    wire::renewed_tls tls_;
};

/// The other side speaks TLS, and this one does not: what to do, as the end of a sentence.
inline constexpr const char* speaks_tls =
    "speaks TLS, and this side does not: give the members and all programs a certificate, its key and the authority, "
    "or none (docs/cluster-replication.md, \"Encryption\")";

}  // namespace tutti::cluster::backend::group
