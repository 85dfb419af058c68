# Sourced by ./demo and ./check: installs the Debian packages of packages.txt that are missing.
# need_packages SECTION...   (sections: build run test full bench)

need_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
    echo "This script installs its packages with apt-get and needs Debian 12 or a system like it." >&2
    exit 2
  }
  local root wanted missing=() section package as_root=()
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  for section in "$@"; do
    wanted=$(awk -v want="[$section]" '/^#/ {inside = ($2 == want); next} inside && NF {print $1}' "$root/packages.txt")
    for package in $wanted; do
      dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "Missing Debian packages: ${missing[*]}" >&2
      echo "Run this as root or install sudo, or ask an administrator for: apt-get install ${missing[*]}" >&2
      exit 2
    }
    as_root=(sudo)
  fi
  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
           apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get could not install: ${missing[*]}" >&2
    rm -f "$log"
    exit 2
  fi
  rm -f "$log"
}
