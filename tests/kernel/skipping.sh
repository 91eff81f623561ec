# shellcheck shell=bash
# What every test with a guest begins with: where something that it needs cannot be had it says so, and is skipped.

skip() {
    say "SKIPPED, nothing was tested: $*"
    exit 77
}

# with_packages <package>...: all of them are installed.
with_packages() {
    local package
    for package in "$@"; do
        installed "$package" || skip "$package is not installed"
    done
}
