// The credential of servers that replicate without being given one: a secret that the processes of one user on one
// machine share.
//
// Whoever may give the commands of followers can read the whole log, and end a leader by a later term. So these
// commands need a credential although no password is set. A server and its follower that run as one user on one machine
// find the same secret in a file that nobody else can read. A web page, another user and another machine do not.
//
// The file is `/run/user/UID/tutti-replication`, or `/tmp/tutti-UID/tutti-replication` where the first folder is
// absent. Both sides read it whenever they need it, and make it if it is absent: it may vanish at any time.
#pragma once

#include <string>
#include <string_view>

namespace tutti::server::journal {

/// Returns the secret, 64 hexadecimal digits, after making it if there is none. Thread safety: any thread.
/// @throws std::runtime_error  when the file cannot be made or read, or another user could read it
[[nodiscard]] std::string machine_secret();

/// The same below `folder`, which is made if it is absent, for its owner alone.
[[nodiscard]] std::string machine_secret_in(const std::string& folder);

/// Compares in a time that does not depend on how much of `given` is right. False for an empty secret.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view secret) noexcept;

}  // namespace tutti::server::journal
