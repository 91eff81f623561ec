// The credential of servers that replicate without a configured credential: a secret that the processes of one user on
// one machine share.
//
// A client that may send the commands of followers can read the whole log, and can make a leader stop leading by
// announcing a later term. So these commands need a credential even if no password is set. A server and its follower
// that run as the same user on the same machine find the same secret in a file. No other user can read that file. Web
// pages, other users and other machines do not know the secret.
//
// The file is `/run/user/UID/tutti-replication`, or `/tmp/tutti-UID/tutti-replication` if the first folder is absent.
// Both sides read the file whenever they need it, and create the file if it is absent, because it may vanish at any
// time.
#pragma once

#include <string>
#include <string_view>

namespace tutti::server::journal {

/// Returns the secret, 64 hexadecimal digits. Creates the secret if it does not exist. Thread safety: any thread.
/// @throws std::runtime_error  if the file cannot be created or read, or if another user could read it
[[nodiscard]] std::string machine_secret();

/// Does the same with a file in `folder`. If `folder` is absent, creates it, accessible only to its owner.
[[nodiscard]] std::string machine_secret_in(const std::string& folder);

/// Compares the secret with `given`, in a time that does not depend on how many characters of `given` are right.
/// Returns false for an empty secret.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view secret) noexcept;

}  // namespace tutti::server::journal
