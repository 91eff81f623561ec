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
    server::settings how;
    std::vector<std::pair<std::string, std::string>> settings;  ///< for the procedures
    std::string cluster;    ///< configuration file of its node; empty: it belongs to no cluster
    std::string port_file;  ///< to write the port to once it is listened on; empty: none
    bool quiet = false;
    bool json = false;                                ///< messages are lines of JSON
    server::severity least = server::severity::info;  ///< of messages
    bool only_checks = false;                         ///< whether it could serve; it listens nowhere
};

/// Of TLS, as a client speaks it; the first three are files of PEM.
struct tls_files {
    std::string authority;    ///< that has signed the server's certificate; empty: one that the system trusts
    std::string certificate;  ///< to show, with its chain, where the server asks for one; empty: none
    std::string key;
    std::string minimum_version = "1.2";  ///< 1.2 or 1.3
    std::string ciphers;                  ///< of TLS 1.2, as openssl-ciphers(1) has them; empty: OpenSSL's
    std::string ciphersuites;             ///< of TLS 1.3; empty: OpenSSL's
};

/// Where a running server is to be found.
struct server_address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7411;
    std::string unix_socket;
    std::string user;  ///< empty: none is named
    std::string password;
    std::optional<tls_files> tls;  ///< none: in the clear
};

struct log_options {
    enum class deed : std::uint8_t { check, repair };
    deed what = deed::check;
    std::string file;
};

struct promote_options {
    server_address to;
};

struct handover_options {
    server_address to;
    std::string heir;  ///< host:port; empty: the follower that has most
    int milliseconds = 10'000;
};

struct timeline_options {
    server_address to;
    std::vector<std::string> with;  ///< other servers, as host:port or the path of a Unix socket
    double seconds = 1;
    std::string output = "timeline.json";
};

struct top_options {
    server_address to;
    pace every;
};

/// Of `tutti node`; what the file and the environment say, and the command line over it, is read by the command.
struct node_command_options {
    std::string file;                  ///< empty: the one that the environment names, if any
    bool only_checks = false;          ///< whether there could be such a node; it listens nowhere
    std::optional<std::string> level;  ///< of messages; none: as the configuration says
    bool json = false;                 ///< also where the configuration does not say so
};

/// Of `tutti cluster status`, `tutti cluster top`, `tutti cluster timeline` and `tutti cluster doubt`.
struct cluster_options {
    enum class view : std::uint8_t { status, top, timeline, doubts, commit_doubt, abort_doubt };
    view what = view::status;
    std::string file;                    ///< of nodes; empty: the one that the environment names, if any
    std::optional<std::string> cluster;  ///< none: as file and environment say
    std::vector<std::string> addresses;  ///< the same
    double within = 1;                   ///< seconds
    bool json = false;
    pace every;           ///< of top
    double record = 0.2;  ///< seconds
    std::string output = "timeline.json";
    std::string transaction;  ///< to settle
};

/// Of `tutti member run`, `status`, `remove`, `groups` and `move`.
struct member_command_options {
    enum class deed : std::uint8_t { run, status, remove, groups, move, readdress, snapshot, restore, export_, force };
    deed what = deed::run;
    std::string folder;
    std::string address;                                 ///< empty: as the folder knows it
    std::string advertise;                               ///< what others reach it by; empty: `address`
    bool founds = false;                                 ///< a new member begins a group
    std::vector<std::string> group;                      ///< whom to join, or to ask
    double election = 0.3;                               ///< seconds
    std::string metrics;                                 ///< where Prometheus may ask; empty: nowhere
    std::size_t snapshot_bytes = std::size_t{64} << 20;  ///< that the log grows by until the objects are saved
    std::string which;                                   ///< to remove: its number or address
    std::string file;                                    ///< of objects
    std::vector<std::string> moves;                      ///< OLD=NEW, addresses of members
    std::string groups;                                  ///< that keep objects together, with semicolons between
    std::string prefix = "tutti";                        ///< of these objects
    double patience = 5;                                 ///< seconds, of these groups
    std::vector<std::string> joins, leaves;              ///< groups, each by addresses of members
    double within = 1;                                   ///< seconds
    bool json = false;
    std::string name = "tutti";  ///< of the group, as certificates have it
    tls_files tls;               ///< without them, in the clear
};

struct run_options {
    std::vector<std::string> program;  ///< and its arguments
    std::string report;                ///< TUTTI_REPORT; empty: as it is
};

struct report_options {
    std::string file;
    std::string html;  ///< where to write a page to; -: standard output; empty: text
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
