#!/bin/sh
# Starts the MCP inspector on the built server, with its log in this terminal.
#
#   ./ahma-inspector.sh                        in the browser, for this directory
#   ./ahma-inspector.sh --sandbox-scope ~/x    further arguments go to the server
#   ./ahma-inspector.sh --cli --method tools/list
#                                              one question, answered here
#
# Needs Node.js; builds the server if need be.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
inspector="@modelcontextprotocol/inspector@${INSPECTOR_VERSION:-2.12.0}"

cargo build --release --quiet --manifest-path "$here/Cargo.toml" --package ahma_core
target=${CARGO_TARGET_DIR:-$here/target}
server="$target/release/ahma_mcp"

if [ "${1:-}" = --cli ]; then
    shift
    exec npx --yes "$inspector" --cli "$server" --log-to-stderr "$@"
fi
exec npx --yes "$inspector" "$server" --log-to-stderr "$@"
