// The command line of `tutti member`.
#include <iterator>
#include <memory>

#include "at_commas.hpp"
#include "subcommand.hpp"

namespace tutti::tools {
namespace {

using deed = member_command_options::deed;

struct words {
    member_command_options options;
    std::string group;
};

/// Uses the same options and variables of the environment as nodes.
void add_tls(CLI::App& to, words& said, const char* whose) {
    const auto file = [&to](const char* name, const char* variable, std::string& value, const std::string& help) {
        to.add_option(name, value, help)->type_name("FILE")->envname(variable);
    };
    file("--certificate", "TUTTI_CLUSTER_CERTIFICATE", said.options.tls.certificate,
         std::string{"use TLS; PEM file with the certificate for "} + whose);
    file("--key", "TUTTI_CLUSTER_KEY", said.options.tls.key, "PEM file with the private key of the certificate");
    file("--authority", "TUTTI_CLUSTER_AUTHORITY", said.options.tls.authority,
         "PEM file with the authority that signs all certificates of the group");
    const protocol_options protocol =
        add_protocol(to, said.options.tls.minimum_version, said.options.tls.ciphers, said.options.tls.ciphersuites);
    protocol.minimum_version->envname("TUTTI_CLUSTER_TLS_MIN_VERSION");
    protocol.ciphers->envname("TUTTI_CLUSTER_TLS_CIPHERS");
    protocol.ciphersuites->envname("TUTTI_CLUSTER_TLS_CIPHERSUITES");
    to.add_option("--name", said.options.name, "name of the group in its certificates")
        ->envname("TUTTI_CLUSTER_NAME")
        ->capture_default_str();
}

void add_group(CLI::App& to, words& said) {
    to.add_option("--group", said.group, "addresses of members, with commas between them; one that runs is enough")
        ->required()
        ->type_name("ADDRESSES");
    to.add_option("--within", said.options.within, "seconds to wait for a member")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
}

void add_groups(CLI::App& to, words& said) {
    to.add_option("--groups", said.options.groups,
                  "addresses of members; commas between members, semicolons between groups")
        ->required()
        ->type_name("ADDRESSES;...");
    to.add_option("--prefix", said.options.prefix, "prefix of the objects, as programs give it")->capture_default_str();
    to.add_option("--within", said.options.patience, "seconds to wait for a group")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    add_tls(to, said, "program.NAME or member.NAME");
    to.add_flag("--json", said.options.json, "print JSON");
}

}  // namespace

subcommand add_member(CLI::App& to) {
    CLI::App* const member = to.add_subcommand("member", "Run a member of a group, or look at and change groups");
    member->require_subcommand(1);
    const auto said = std::make_shared<words>();
    CLI::App* const run =
        member->add_subcommand("run", "Run a member until SIGTERM; an existing folder needs no other option");
    run->add_option("--folder", said->options.folder,
                    "folder for log, snapshots and identity; created if it does not exist")
        ->required()
        ->type_name("FOLDER");
    run->add_option("--listen", said->options.address, "address of a new member; without TLS, of loopback")
        ->type_name("ADDRESS");
    run->add_option("--advertise", said->options.advertise,
                    "address by which others reach the member (default: --listen)")
        ->type_name("ADDRESS");
    CLI::Option* const founds =
        run->add_flag("--new-group", said->options.founds, "start a new group with this member");
    run->add_option("--join", said->group, "join the group of these members, with commas between them")
        ->excludes(founds)
        ->type_name("ADDRESSES");
    run->add_option("--election", said->options.election,
                    "seconds without a leader, up to twice as many, before an election")
        ->check(CLI::Range(0.05, 60.0))
        ->capture_default_str();
    run->add_option("--metrics", said->options.metrics, "loopback address for Prometheus; port 0: the system chooses")
        ->type_name("HOST:PORT")
        ->envname("TUTTI_CLUSTER_METRICS");
    run->add_option("--snapshot-bytes", said->options.snapshot_bytes,
                    "log growth that triggers a snapshot, such as 256MiB; at least the last snapshot's size")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::size_t{64} << 10, std::size_t{1} << 40))
        ->type_name("SIZE")
        ->default_str("64MiB");
    add_tls(*run, *said, "member.NAME");
    run->add_flag("--json", said->options.json, "print messages as JSON lines");
    CLI::App* const status = member->add_subcommand(
        "status", "Ask the members, and show a row for each; ends with 1 if one does not answer or is no voter yet");
    add_group(*status, *said);
    add_tls(*status, *said, "program.NAME or member.NAME");
    status->add_flag("--json", said->options.json, "print all figures as JSON");
    CLI::App* const remove =
        member->add_subcommand("remove", "Remove a member from its group, even if the member does not run");
    remove->add_option("member", said->options.which, "number or address of the member")->required();
    add_group(*remove, *said);
    add_tls(*remove, *said, "member.NAME");
    CLI::App* const groups =
        member->add_subcommand("groups", "Show which groups share the objects of a prefix, and each group's share");
    add_groups(*groups, *said);
    CLI::App* const move = member->add_subcommand(
        "move", "Move objects until all groups have equal shares, while programs run; can be repeated");
    add_groups(*move, *said);
    move->add_option("--join", said->options.joins, "members of a group that gets a share from now on")
        ->type_name("ADDRESSES");
    move->add_option("--leave", said->options.leaves, "members of a group that gives all its objects away")
        ->type_name("ADDRESSES");
    CLI::App* const readdress =
        member->add_subcommand("readdress", "Change addresses of members in the folder of a stopped member");
    readdress->add_option("--folder", said->options.folder, "folder of the member")->required()->type_name("FOLDER");
    readdress->add_option("moves", said->options.moves, "earlier and present address of a member")
        ->required()
        ->type_name("OLD=NEW");
    CLI::App* const force = member->add_subcommand(
        "force-new-group", "Start a new group from a stopped member after the others are lost for good");
    force->add_option("--folder", said->options.folder, "folder of the member")->required()->type_name("FOLDER");
    add_tls(*force, *said, "member.NAME");
    const auto objects_of = [&](CLI::App& verb, const char* file, const char* help) {
        verb.add_option("--group", said->options.groups, "addresses of members of the group, with commas between them")
            ->required()
            ->type_name("ADDRESSES");
        if (file != nullptr) verb.add_option(file, said->options.file, help)->required()->type_name("FILE");
        verb.add_option("--prefix", said->options.prefix, "prefix of the objects, as programs give it")
            ->capture_default_str();
        verb.add_option("--within", said->options.patience, "seconds to wait for the group")
            ->check(CLI::Range(0.01, 3600.0))
            ->capture_default_str();
        add_tls(verb, *said, "program.NAME or member.NAME");
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
                member_command_options all = said->options;
                all.group = at_commas(said->group);
                constexpr deed deeds[] = {deed::status,   deed::remove,  deed::groups,  deed::move, deed::readdress,
                                          deed::snapshot, deed::restore, deed::export_, deed::force};
                const CLI::App* const verbs[] = {status,   remove,  groups, move, readdress,
                                                 snapshot, restore, lines,  force};
                for (std::size_t i = 0; i < std::size(verbs); ++i) {
                    if (verbs[i]->parsed()) all.what = deeds[i];
                }
                return all;
            }};
}

}  // namespace tutti::tools
