# Reads the table of packages (tests/packages). Sourced by the scripts beside it, from their folder or another.

packages_of() {
  awk -v set="$1" '$1 == set { print $2 }' "$(dirname "$0")/packages"
}

# Of alternatives "a|b", one is enough.
is_installed() {
  for package in $(echo "$1" | tr '|' ' '); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ] || return 0
  done
  return 1
}

first_offered() {
  for package in $(echo "$1" | tr '|' ' '); do
    if apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]'; then
      echo "$package"
      return
    fi
  done
}
