// The command line of `tutti`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/program.hpp"
#include "refresh.hpp"
#include "tutti/server/service.hpp"

namespace tutti::tools {

struct serve_options {
    std::vector<std::string> shared_objects;  ///< one or more
    server::settings server_settings;
    std::vector<std::pair<std::string, std::string>> settings;  ///< settings for the procedures
    std::string cluster;    ///< configuration file of its node; empty: not part of a cluster
    std::string port_file;  ///< file to write the port to once the server listens; empty: no file
    bool quiet = false;
    bool log_json = false;                                ///< messages are lines of JSON
    server::severity log_level = server::severity::info;  ///< least severity of printed messages
    bool only_checks = false;                             ///< only checks whether it could serve, and does not listen
};

/// The TLS options of a client. The first three are names of PEM files.
struct tls_files {
    std::string authority;    ///< authority of the server's certificate; empty: the system's trusted authorities
    std::string certificate;  ///< client certificate with its chain, if the server asks for one; empty: no certificate
    std::string key;
    std::string minimum_version = "1.2";  ///< 1.2 or 1.3
    std::string ciphers;                  ///< of TLS 1.2, in the format of openssl-ciphers(1); empty: OpenSSL's default
    std::string ciphersuites;             ///< of TLS 1.3; empty: OpenSSL's default
};

/// The address of a running server.
struct server_address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7411;
    std::string unix_socket;
    std::string user;  ///< empty: no user name
    std::string password;
    std::optional<tls_files> tls;  ///< without value: no TLS
};

struct log_options {
    enum class action_kind : std::uint8_t { check, repair };
    action_kind action = action_kind::check;
    std::string file;
};

struct promote_options {
    server_address to;
};

struct handover_options {
    server_address to;
    std::string successor;  ///< host:port; empty: the follower that has the most calls
    int timeout_ms = 10'000;
};

struct timeline_options {
    server_address to;
    std::vector<std::string> add_servers;  ///< further servers, as host:port or the path of a Unix socket
    double duration = 1;
    std::string output = "timeline.json";
};

struct top_options {
    server_address to;
    refresh_schedule schedule;
};

/// The options of `tutti node`. They override the configuration file and the environment, which the command itself
/// reads.
struct node_command_options {
    std::string file;                      ///< empty: the file named by the environment, if any
    bool only_checks = false;              ///< only checks whether the node could start, and does not listen
    std::optional<std::string> log_level;  ///< level of messages; without value: as in the configuration
    bool log_json = false;                 ///< JSON messages even if the configuration does not ask for them
};

/// The options of `tutti cluster status`, `tutti cluster top`, `tutti cluster timeline` and `tutti cluster doubt`.
struct cluster_options {
    enum class view : std::uint8_t { status, top, timeline, doubts, commit_doubt, abort_doubt };
    view wanted_view = view::status;
    std::string file;                    ///< configuration file; empty: the file named by the environment, if any
    std::optional<std::string> cluster;  ///< the cluster's name; without value: as in the file and the environment
    std::vector<std::string> addresses;  ///< addresses of nodes; empty: as in the file and the environment
    double timeout = 1;                  ///< seconds
    bool json = false;
    refresh_schedule schedule;  ///< only for `top`
    double duration = 0.2;      ///< seconds
    std::string output = "timeline.json";
    std::string transaction;  ///< the transaction to resolve
};

/// The options of `tutti member run`, `status`, `remove`, `groups`, `rebalance` and its other subcommands.
struct member_command_options {
    enum class action_kind : std::uint8_t {
        run,
        status,
        remove,
        groups,
        rebalance,
        readdress,
        snapshot,
        restore,
        export_,
        force
    };
    action_kind action = action_kind::run;
    std::string data_dir;
    std::string address;                                 ///< empty: as stored in the folder
    std::string advertise;                               ///< address for other members and programs; empty: `address`
    bool new_group = false;                              ///< a new member founds a group
    std::vector<std::string> group;                      ///< addresses of members to join or to ask
    double election_timeout = 0.3;                       ///< seconds
    std::string metrics;                                 ///< address for Prometheus; empty: no metrics
    std::size_t snapshot_bytes = std::size_t{64} << 20;  ///< growth of the log after which a member saves a snapshot
    std::string removed_member;                          ///< the member to remove: its number or address
    std::string file;                                    ///< file of saved objects
    std::vector<std::string> address_changes;            ///< OLD=NEW, addresses of members
    std::string groups;                                  ///< groups that hold the objects, separated by semicolons
    std::string prefix = "tutti";                        ///< prefix of the objects in `groups`
    double request_timeout = 5;                          ///< seconds to wait for the groups
    std::vector<std::string> add, remove;                ///< groups, each given by addresses of members
    double timeout = 1;                                  ///< seconds
    bool json = false;
    std::string name = "tutti";  ///< name of the group in certificates
    tls_files tls;               ///< empty: no TLS
};

struct run_options {
    std::vector<std::string> program;  ///< the program and its arguments
    std::string report;                ///< value for TUTTI_REPORT; empty: leaves it unchanged
};

struct report_options {
    std::string file;
    std::string html;  ///< file for the page; -: standard output; empty: text
};

struct stat_options {
    int process = 0;
    std::string html;  ///< as in report_options
};

using command = std::variant<serve_options, top_options, timeline_options, promote_options, handover_options,
                             log_options, run_options, report_options, stat_options, cluster_options,
                             node_command_options, member_command_options, cli::help_text>;

/// @throws cli::command_line_error
[[nodiscard]] command parse_command_line(int argc, const char* const* argv);

}  // namespace tutti::tools
