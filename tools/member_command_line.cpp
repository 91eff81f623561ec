// The command line of `tutti member`.
#include <iterator>
#include <memory>

#include "split_list.hpp"
#include "subcommand.hpp"

namespace tutti::tools {
namespace {

using action_kind = member_command_options::action_kind;

struct parsed_options {
    member_command_options options;
    std::string group;
};

/// Adds the TLS options, with the same names and environment variables as for nodes.
void add_tls(CLI::App& to, parsed_options& parsed, const char* whose) {
    const auto file = [&to](const char* name, const char* variable, std::string& value, const std::string& help) {
        to.add_option(name, value, help)->type_name("FILE")->envname(variable);
    };
    file("--certificate", "TUTTI_CLUSTER_CERTIFICATE", parsed.options.tls.certificate,
         std::string{"use TLS; PEM file with the certificate for "} + whose);
    file("--key", "TUTTI_CLUSTER_KEY", parsed.options.tls.key, "PEM file with the private key of the certificate");
    file("--authority", "TUTTI_CLUSTER_AUTHORITY", parsed.options.tls.authority,
         "PEM file with the authority that signs all certificates of the group");
    const tls_protocol_options protocol = add_tls_protocol(to, parsed.options.tls.minimum_version,
                                                           parsed.options.tls.ciphers, parsed.options.tls.ciphersuites);
    protocol.minimum_version->envname("TUTTI_CLUSTER_TLS_MIN_VERSION");
    protocol.ciphers->envname("TUTTI_CLUSTER_TLS_CIPHERS");
    protocol.ciphersuites->envname("TUTTI_CLUSTER_TLS_CIPHERSUITES");
    to.add_option("--name", parsed.options.name, "name of the group in its certificates")
        ->envname("TUTTI_CLUSTER_NAME")
        ->capture_default_str();
}

void add_group(CLI::App& to, parsed_options& parsed) {
    to.add_option("--group", parsed.group, "addresses of members, with commas between them; one that runs is enough")
        ->required()
        ->type_name("ADDRESSES");
    to.add_option("--timeout", parsed.options.timeout, "seconds to wait for a member")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
}

void add_groups(CLI::App& to, parsed_options& parsed) {
    to.add_option("--groups", parsed.options.groups,
                  "addresses of members; commas between members, semicolons between groups")
        ->required()
        ->type_name("ADDRESSES;...");
    to.add_option("--prefix", parsed.options.prefix, "prefix of the objects, as programs give it")
        ->capture_default_str();
    to.add_option("--timeout", parsed.options.request_timeout, "seconds to wait for a group")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    add_tls(to, parsed, "program.NAME or member.NAME");
    to.add_flag("--json", parsed.options.json, "print JSON");
}

}  // namespace

subcommand add_member(CLI::App& to) {
    CLI::App* const member = to.add_subcommand("member", "Run a member of a group, or show and change groups");
    member->require_subcommand(1);
    const auto parsed = std::make_shared<parsed_options>();
    CLI::App* const run =
        member->add_subcommand("run", "Run a member until SIGTERM; an existing folder needs no other option");
    run->add_option("--data-dir", parsed->options.data_dir,
                    "folder for log, snapshots and identity; created if it does not exist")
        ->required()
        ->type_name("FOLDER");
    run->add_option("--listen", parsed->options.address, "address of a new member; without TLS, of loopback")
        ->type_name("ADDRESS");
    run->add_option("--advertise", parsed->options.advertise,
                    "address by which others reach the member (default: --listen)")
        ->type_name("ADDRESS");
    CLI::Option* const new_group =
        run->add_flag("--new-group", parsed->options.new_group, "start a new group with this member");
    run->add_option("--join", parsed->group, "join the group of these members, with commas between them")
        ->excludes(new_group)
        ->type_name("ADDRESSES");
    run->add_option("--election-timeout", parsed->options.election_timeout,
                    "seconds without a leader, up to twice as many, before an election")
        ->check(CLI::Range(0.05, 60.0))
        ->capture_default_str();
    run->add_option("--metrics", parsed->options.metrics, "loopback address for Prometheus; port 0: the system chooses")
        ->type_name("HOST:PORT")
        ->envname("TUTTI_CLUSTER_METRICS");
    run->add_option("--snapshot-bytes", parsed->options.snapshot_bytes,
                    "log growth that triggers a snapshot, such as 256MiB; at least the last snapshot's size")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::size_t{64} << 10, std::size_t{1} << 40))
        ->type_name("SIZE")
        ->default_str("64MiB");
    add_tls(*run, *parsed, "member.NAME");
    run->add_flag("--log-json", parsed->options.json, "print messages as JSON lines");
    CLI::App* const status = member->add_subcommand(
        "status", "Ask the members, and show a row for each; ends with 1 if one does not answer or is no voter yet");
    add_group(*status, *parsed);
    add_tls(*status, *parsed, "program.NAME or member.NAME");
    status->add_flag("--json", parsed->options.json, "print the whole status as JSON");
    CLI::App* const remove =
        member->add_subcommand("remove", "Remove a member from its group, even if the member does not run");
    remove->add_option("member", parsed->options.removed_member, "number or address of the member")->required();
    add_group(*remove, *parsed);
    add_tls(*remove, *parsed, "member.NAME");
    CLI::App* const groups =
        member->add_subcommand("groups", "Show which groups share the objects of a prefix, and each group's share");
    add_groups(*groups, *parsed);
    CLI::App* const rebalance = member->add_subcommand(
        "rebalance", "Move objects until all groups have equal shares, while programs run; can be repeated");
    add_groups(*rebalance, *parsed);
    rebalance->add_option("--add", parsed->options.add, "members of a group that gets a share from now on")
        ->type_name("ADDRESSES");
    rebalance->add_option("--remove", parsed->options.remove, "members of a group that gives all its objects away")
        ->type_name("ADDRESSES");
    CLI::App* const readdress =
        member->add_subcommand("readdress", "Change addresses of members in the folder of a stopped member");
    readdress->add_option("--data-dir", parsed->options.data_dir, "folder of the member")
        ->required()
        ->type_name("FOLDER");
    readdress->add_option("moves", parsed->options.address_changes, "earlier and present address of a member")
        ->required()
        ->type_name("OLD=NEW");
    CLI::App* const force = member->add_subcommand(
        "force-new-group", "Start a new group from a stopped member after the others are lost for good");
    force->add_option("--data-dir", parsed->options.data_dir, "folder of the member")->required()->type_name("FOLDER");
    add_tls(*force, *parsed, "member.NAME");
    const auto objects_of = [&](CLI::App& verb, const char* file, const char* help) {
        verb.add_option("--group", parsed->options.groups,
                        "addresses of members of the group, with commas between them")
            ->required()
            ->type_name("ADDRESSES");
        if (file != nullptr) verb.add_option(file, parsed->options.file, help)->required()->type_name("FILE");
        verb.add_option("--prefix", parsed->options.prefix, "prefix of the objects, as programs give it")
            ->capture_default_str();
        verb.add_option("--timeout", parsed->options.request_timeout, "seconds to wait for the group")
            ->check(CLI::Range(0.01, 3600.0))
            ->capture_default_str();
        add_tls(verb, *parsed, "program.NAME or member.NAME");
    };
    CLI::App* const snapshot =
        member->add_subcommand("snapshot", "Write a consistent snapshot of a prefix into a file, while programs run");
    objects_of(*snapshot, "--output", "file for the snapshot; replaced once the snapshot is complete");
    CLI::App* const restore =
        member->add_subcommand("restore", "Load a snapshot into a group that has no objects of the prefix");
    objects_of(*restore, "--input", "file that 'tutti member snapshot' has written");
    CLI::App* const lines = member->add_subcommand(
        "export", "Print each object of a prefix as a JSON line: id, version, and value in base64");
    objects_of(*lines, nullptr, nullptr);
    return {member, [=] {
                member_command_options all = parsed->options;
                all.group = split_list(parsed->group);
                constexpr action_kind actions[] = {
                    action_kind::status,    action_kind::remove,    action_kind::groups,
                    action_kind::rebalance, action_kind::readdress, action_kind::snapshot,
                    action_kind::restore,   action_kind::export_,   action_kind::force};
                const CLI::App* const verbs[] = {status,   remove,  groups, rebalance, readdress,
                                                 snapshot, restore, lines,  force};
                for (std::size_t i = 0; i < std::size(verbs); ++i) {
                    if (verbs[i]->parsed()) all.action = actions[i];
                }
                return all;
            }};
}

}  // namespace tutti::tools
