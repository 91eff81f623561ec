// The certificates that members and programs of a group show each other under TLS, and the rights of each certificate.
//
//   CRD1  A member shows a certificate made for the DNS name member.<name of the group>. A program shows one for
//         program.<name of the group>. One authority has signed all certificates. A caller expects a member's
//         certificate, so a program's certificate is never accepted for a member's, on either side. A certificate of
//         one group is not accepted by another group.
//   CRD2  A member's certificate includes the rights of a program's. Only a member's certificate allows changing the
//         members of a group.
//   CRD3  Certificates may be renewed while the process runs (wire/reloading_tls.hpp).
//
// A member's certificate does not contain the member's number, because the number is drawn when the member's folder is
// made. Instead, each side names the member that it means (GPR1). Nor does the certificate contain the member's
// address: this would protect little, because any member can stop its group anyway.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <memory>
#include <string>

#include "cluster/backend/group_protocol.hpp"
#include "wire/reloading_tls.hpp"

namespace tutti::cluster::backend::group {

/// The TLS settings of a group. Without certificate files, connections are not encrypted, and only possible on
/// loopback.
struct tls_settings {
    wire::tls_files files;
    std::string group_name = "tutti";
};

/// Returns the DNS name that CRD1 describes.
[[nodiscard]] std::string certificate_name(peer_kind kind, const std::string& group_name);

class credentials {
public:
    /// Reads the certificate files of a member or a program. Throws engine_error if every peer would reject them.
    credentials(tls_settings how, peer_kind own);
    /// Makes credentials, or returns null if `how` names no files. Throws engine_error on failure. Also throws if
    /// OpenSSL does not know a cipher, even without files.
    [[nodiscard]] static std::shared_ptr<credentials> of(const tls_settings& how, peer_kind own);

    /// Makes the TLS session of the side that connects to a member.
    [[nodiscard]] std::unique_ptr<wire::tls_session> client_session();
    /// Makes the TLS session of the member that accepts a connection.
    [[nodiscard]] std::unique_ptr<wire::tls_session> server_session();
    [[nodiscard]] std::string name_of(peer_kind kind) const { return certificate_name(kind, how_.group_name); }
    /// Returns the reason why the peer may not act as `kind`, or an empty string if the peer may. REQUIRES:
    /// s.established().
    [[nodiscard]] std::string reason_to_reject(const wire::tls_session& s, peer_kind kind) const;
    /// Returns the reason why the files on the disk are not in use (CRD3), or an empty string if they are in use.
    [[nodiscard]] std::string error() const { return tls_.error(); }

private:
    const tls_settings how_;
    wire::reloading_tls tls_;
};

/// The end of the error message of a side without TLS whose peer uses TLS.
inline constexpr const char* peer_uses_tls =
    "speaks TLS, and this side does not: give the members and all programs a certificate, its key and the authority, "
    "or none (docs/cluster-replication.md, \"Encryption\")";

}  // namespace tutti::cluster::backend::group
