# shellcheck shell=bash
# Sourced by ./run: installs what is missing of the packages in tools/packages.txt. Asks dpkg every time (it answers in
# milliseconds), so a package that was removed since comes back.

# list_packages SECTION...: the packages of these sections of the list, one per line.
list_packages() {
  awk -v wanted=" $* " '
    { sub(/#.*/, "") }
    /^\[/ { section = $0; gsub(/[][ ]/, "", section); next }
    NF && index(wanted, " " section " ") { print $1 }' tools/packages.txt
}

# missing_packages PACKAGE...: those that are not installed, one per line.
missing_packages() {
  local installed
  # dpkg-query fails when it knows none of a name; what it printed for the others still counts.
  # shellcheck disable=SC2016  # the ${...} are dpkg's
  installed=$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  local package
  for package in "$@"; do
    grep --quiet --line-regexp --fixed-strings "installed $package" <<<"$installed" || echo "$package"
  done
}

# as_root COMMAND...: runs it as root, directly or with a sudo that does not ask for a password.
as_root() {
  if [[ $EUID -eq 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo --non-interactive env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

can_be_root() { [[ $EUID -eq 0 ]] || sudo --non-interactive true 2>/dev/null; }

# ensure_packages SECTION...: installs what is missing of these sections, or ends the run with what to do by hand.
ensure_packages() {
  local wanted missing
  mapfile -t wanted < <(list_packages "$@")
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no apt on this system: install the counterparts of tools/packages.txt by hand if something is missing"
    return
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -gt 0 ]] || return 0

  can_be_root || die "these packages are missing: ${missing[*]}
Installing them needs root, or sudo without a password. Do it once by hand:
  sudo apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  local apt=(apt-get --quiet=2 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  as_root "${apt[@]}" update || die "apt-get update failed; is the network there?"
  as_root "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get could not install: ${missing[*]}
The list in tools/packages.txt holds for Debian 12 and Ubuntu 24.04; on Ubuntu the component 'universe' is needed."
}
